import type { Family } from '../base';
import { familyFrom } from '../common/family';
import { multimodalPositions } from '../common/positions';
import { parseQwen3VlConfig } from './config';
import { Qwen3VisionFeeds } from './feeds';
import { visionLinears, visionParameters } from './names';
import { buildVisionTower } from './vision';

/** Qwen3-VL, dense: arXiv:2511.21631. */
export function qwen3Vl(json: unknown, file: string): Family {
  const { text, vision, imageTokenId } = parseQwen3VlConfig(json, file);
  return familyFrom({
    name: 'qwen3-vl',
    modelType: 'qwen3_vl',
    text,
    imageTokenId,
    vision: {
      patchSize: vision.patchSize,
      deepstack: vision.deepstackIndexes.length,
      inputs: new Qwen3VisionFeeds(vision),
      build: (build) => buildVisionTower(build, vision),
      linears: () => visionLinears(vision),
      parameters: () => visionParameters(vision),
    },
    positions: multimodalPositions({ imageTokenId, mergeSize: vision.mergeSize }),
  });
}
