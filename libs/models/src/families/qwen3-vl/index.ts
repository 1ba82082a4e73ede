import type { Family } from '../base';
import { familyFrom } from '../common/family';
import { ropePositions } from '../common/positions';
import { parseQwen3VlConfig } from './config';
import { Qwen3VisionFeeds } from './feeds';
import { visionLinears, visionParameters } from './names';
import { buildVisionTower } from './vision';

/** Qwen3-VL, dense: arXiv:2511.21631. */
export function qwen3Vl(json: unknown, file: string): Family {
  const { text, vision, imageTokenId } = parseQwen3VlConfig(json, file);
  const feeds = new Qwen3VisionFeeds(vision);
  return familyFrom({
    name: 'qwen3-vl',
    modelType: 'qwen3_vl',
    text,
    imageTokenId,
    vision: {
      deepstack: vision.deepstackIndexes.length,
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
