import type { Family } from '../base';
import { familyFrom } from '../common/family';
import { PatchFeeds } from '../common/patch-feeds';
import { multimodalPositions } from '../common/positions';
import { qwen2CheckpointName } from '../common/qwen2-text';
import { patchLength } from '../common/patch-attention';
import { parseQwen2VlConfig } from './config';
import { visionLinears, visionParameters } from './names';
import { buildVisionTower } from './vision';

/** Qwen2-VL: arXiv:2409.12191. */
export function qwen2Vl(json: unknown, file: string): Family {
  const { text, vision, imageTokenId } = parseQwen2VlConfig(json, file);
  return familyFrom({
    name: 'qwen2-vl',
    modelType: 'qwen2_vl',
    text,
    imageTokenId,
    checkpointName: qwen2CheckpointName,
    vision: {
      patchSize: vision.patchSize,
      deepstack: 0,
      inputs: new PatchFeeds({ ...vision, patchLength: patchLength(vision) }),
      build: (build) => buildVisionTower(build, vision),
      linears: () => visionLinears(vision),
      parameters: () => visionParameters(vision),
    },
    positions: multimodalPositions({ imageTokenId, mergeSize: vision.mergeSize }),
  });
}
