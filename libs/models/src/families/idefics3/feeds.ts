import { tensor } from '@ui-rl/graph';
import { ModelError } from '../../errors';
import type { Feeds, ImageGeometry, ImageInput } from '../base';
import { blockOrder } from '../common/block-order';
import type { VisionInputs } from '../common/model';
import { bufferFor } from '../common/patch-feeds';
import { imageTokensOf } from '../common/positions';
import { siglipPatchLength } from '../common/siglip-config';
import { bucketedPositionIds } from '../common/siglip-positions';
import type { Idefics3Config } from './config';

/**
 * Feeds of the tower over the tiles of all images: `patches` [N, P, patchLength] and `position_ids` [N, P], with the
 * patches of a token adjacent. All tiles have one size, so there is no padding.
 */
export class Idefics3Feeds implements VisionInputs {
  constructor(private readonly config: Idefics3Config) {}

  imageTokens({ grid }: ImageGeometry): number {
    return imageTokensOf(grid, this.config.scaleFactor);
  }

  feeds(images: readonly ImageInput[], memory?: Float32Array): Feeds {
    if (images.length === 0) throw new ModelError('bad-input', 'the vision tower needs at least one image');
    const { vision, scaleFactor } = this.config;
    const [, rows, columns] = images[0].grid;
    images.forEach((image, index) => this.check(image, index, rows, columns));
    const order = blockOrder(rows, columns, scaleFactor);
    const size = siglipPatchLength(vision);
    const [N, P] = [images.reduce((tiles, { grid }) => tiles + grid[0], 0), order.length];
    const patches = bufferFor(N * P * size, memory);
    const ids = bucketedPositionIds(rows, columns, vision.side);
    const positionIds = BigInt64Array.from({ length: N * P }, (_, i) => BigInt(ids[order[i % P]]));
    let place = 0;
    for (const image of images) {
      for (let tile = 0; tile < image.grid[0]; tile++) {
        for (const patch of order) {
          const from = (tile * P + patch) * size;
          patches.set(image.patches.subarray(from, from + size), place++ * size);
        }
      }
    }
    return {
      patches: tensor('float32', patches, [N, P, size]),
      position_ids: tensor('int64', positionIds, [N, P]),
    };
  }

  private check({ grid, patches }: ImageInput, index: number, rows: number, columns: number): void {
    const { vision, scaleFactor } = this.config;
    const fail = (found: string): ModelError => new ModelError('bad-input', `image ${index}: ${found}`);
    if (rows % scaleFactor !== 0 || columns % scaleFactor !== 0) {
      throw fail(
        `tiles of ${rows}×${columns} patches; expected multiples of scale_factor = ${scaleFactor}: does the image processor belong to this model?`,
      );
    }
    if (grid[1] !== rows || grid[2] !== columns) {
      throw fail(`tiles of ${grid[1]}×${grid[2]} patches in a batch of tiles of ${rows}×${columns}`);
    }
    const numbers = grid[0] * rows * columns * siglipPatchLength(vision);
    if (patches.length !== numbers) {
      throw fail(`grid [${grid.join(', ')}] needs ${numbers} numbers, found ${patches.length}`);
    }
  }
}
