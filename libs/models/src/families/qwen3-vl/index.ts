import type { Family } from '../base';
import { familyFrom } from '../common/family';
import { multimodalPositions } from '../common/positions';
import { parseQwen3VlConfig, type Qwen3VlConfig } from './config';
import { Qwen3VisionFeeds } from './feeds';
import { visionLinears, visionParameters } from './names';
import { buildVisionTower } from './vision';

/** Qwen3-VL, dense: arXiv:2511.21631. */
export function qwen3Vl(json: unknown, file: string): Family {
  return qwen3VlFrom({ name: 'qwen3-vl', modelType: 'qwen3_vl' }, parseQwen3VlConfig(json, file));
}

/** The family of a configuration, with either text model. */
export function qwen3VlFrom(
  names: { name: string; modelType: string },
  { text, vision, imageTokenId }: Qwen3VlConfig,
): Family {
  return familyFrom({
    ...names,
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
