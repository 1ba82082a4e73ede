import type { Family } from '../base';
import { familyFrom } from '../common/family';
import { multimodalPositions } from '../common/positions';
import { qwen2CheckpointName } from '../common/qwen2-text';
import { parseQwen25VlConfig } from './config';
import { Qwen25VisionFeeds } from './feeds';
import { visionLinears, visionParameters } from './names';
import { buildVisionTower } from './vision';

/** Qwen2.5-VL: arXiv:2502.13923. */
export function qwen25Vl(json: unknown, file: string): Family {
  const { text, vision, imageTokenId } = parseQwen25VlConfig(json, file);
  return familyFrom({
    name: 'qwen2.5-vl',
    modelType: 'qwen2_5_vl',
    text,
    imageTokenId,
    checkpointName: qwen2CheckpointName,
    vision: {
      patchSize: vision.patchSize,
      deepstack: 0,
      inputs: new Qwen25VisionFeeds(vision),
      build: (build) => buildVisionTower(build, vision),
      linears: () => visionLinears(vision),
      parameters: () => visionParameters(vision),
    },
    positions: multimodalPositions({ imageTokenId, mergeSize: vision.mergeSize }),
  });
}
