import type { Family } from '../base';
import { familyFrom } from '../common/family';
import { llavaCheckpointName } from '../common/llava-names';
import { declarePictures, llavaLinears, llavaParameters, projectPictures } from '../common/llava-vision';
import { parseLlavaConfig } from './config';
import { LlavaFeeds } from './feeds';

/** LLaVA 1.5: arXiv:2310.03744. */
export function llava(json: unknown, file: string): Family {
  const { text, vision, imageTokenId } = parseLlavaConfig(json, file);
  return familyFrom({
    name: 'llava',
    modelType: 'llava',
    text,
    imageTokenId,
    checkpointName: llavaCheckpointName,
    vision: {
      patchSize: vision.tower.patchSize,
      deepstack: 0,
      inputs: new LlavaFeeds(vision),
      build: (layers) => ({
        features: projectPictures(layers, vision, declarePictures(layers.graph, vision)),
        deepstack: [],
      }),
      linears: () => llavaLinears(vision),
      parameters: () => llavaParameters(vision),
    },
  });
}
