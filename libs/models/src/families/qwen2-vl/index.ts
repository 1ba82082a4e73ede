import type { Family } from '../base';
import { familyFrom } from '../common/family';
import { PatchFeeds } from '../common/patch-feeds';
import { ropePositions } from '../common/positions';
import { qwen2CheckpointName } from '../common/qwen2-text';
import { patchLength } from '../common/qwen2-vision';
import { parseQwen2VlConfig } from './config';
import { visionLinears, visionParameters } from './names';
import { buildVisionTower } from './vision';

/** Qwen2-VL: arXiv:2409.12191. */
export function qwen2Vl(json: unknown, file: string): Family {
  const { text, vision, imageTokenId } = parseQwen2VlConfig(json, file);
  const feeds = new PatchFeeds({ ...vision, patchLength: patchLength(vision) });
  return familyFrom({
    name: 'qwen2-vl',
    modelType: 'qwen2_vl',
    text,
    imageTokenId,
    checkpointName: qwen2CheckpointName,
    vision: {
      deepstack: 0,
      build: (build) => buildVisionTower(build, vision),
      imageTokens: (grid) => feeds.imageTokens(grid),
      feeds: (images, memory) => ({
        feeds: feeds.feeds(images, memory),
        rowsPerImage: feeds.rowsPerImage(images),
      }),
      rowsPerImage: (images) => feeds.rowsPerImage(images),
      linears: () => visionLinears(vision),
      parameters: () => visionParameters(vision),
    },
    positions: (tokenIds, grids) =>
      ropePositions(tokenIds, grids, { imageTokenId, mergeSize: vision.mergeSize }),
  });
}
