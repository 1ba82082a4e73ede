import type { Family } from '../base';
import { familyFrom } from '../common/family';
import { llavaCheckpointName } from '../common/llava-names';
import { siglipLinears, siglipParameters } from '../common/siglip-config';
import { buildSiglipTower, declareSiglipInputs } from '../common/siglip-tower';
import { parseGemma3Config } from './config';
import { Gemma3Feeds } from './feeds';
import { project, projectorParameters } from './projector';

const [BEGIN, END] = ['<start_of_image>', '<end_of_image>'];

/** Gemma 3: arXiv:2503.19786. */
export function gemma3(json: unknown, file: string): Family {
  const config = parseGemma3Config(json, file);
  const { text, vision, imageTokenId } = config;
  const inputs = new Gemma3Feeds(config);
  return familyFrom({
    name: 'gemma3',
    modelType: 'gemma3',
    text,
    imageTokenId,
    checkpointName: llavaCheckpointName,
    prompt: {
      templateImage: BEGIN,
      imageText: (image, imageToken) => ({
        text: `\n\n${BEGIN}${imageToken}${END}\n\n`,
        runs: [inputs.imageTokens(image)],
      }),
      imageMarks: [BEGIN, END],
    },
    vision: {
      patchSize: vision.patchSize,
      deepstack: 0,
      inputs,
      build: (layers) => {
        const declared = declareSiglipInputs(layers.graph, vision, {
          P: vision.side ** 2,
          positionIds: false,
        });
        const patches = buildSiglipTower(layers, vision, declared);
        return { features: layers.graph.cut(project(layers, config, patches)), deepstack: [] };
      },
      linears: () => siglipLinears(vision),
      parameters: () => [...siglipParameters(vision), ...projectorParameters(config)],
    },
  });
}
