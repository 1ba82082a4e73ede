import type { Family } from '../base';
import { familyFrom } from '../common/family';
import { parseInternVlConfig } from './config';
import { InternVlFeeds } from './feeds';
import { internVlCheckpointName, visionLinears, visionParameters } from './names';
import { buildFeatures } from './vision';

const [BEGIN, END] = ['<img>', '</img>'];

/** InternVL3 (arXiv:2504.10479) and InternVL3.5 (arXiv:2508.18265). */
export function internVl(json: unknown, file: string): Family {
  const { text, vision, imageTokenId } = parseInternVlConfig(json, file);
  const inputs = new InternVlFeeds(vision);
  return familyFrom({
    name: 'internvl',
    modelType: 'internvl',
    text,
    imageTokenId,
    checkpointName: internVlCheckpointName,
    prompt: {
      imageText: (image, imageToken) => ({
        text: `${BEGIN}${imageToken}${END}`,
        runs: [inputs.imageTokens(image)],
      }),
      imageMarks: [BEGIN, END],
    },
    vision: {
      patchSize: vision.patchSize,
      deepstack: 0,
      inputs,
      build: (layers) => ({ features: buildFeatures(layers, vision), deepstack: [] }),
      linears: () => visionLinears(vision),
      parameters: () => visionParameters(vision),
    },
  });
}
