import { tensor } from '@ui-rl/graph';
import { ModelError } from '../../errors';
import type { Feeds, ImageGeometry, ImageInput } from '../base';
import { blockOrder } from '../common/block-order';
import type { VisionInputs } from '../common/model';
import { bufferFor, PerGrid } from '../common/patch-feeds';
import { imageTokensOf } from '../common/positions';
import type { InternVlVision } from './config';
import { patchLength } from './names';
import { bicubicWeights } from './positions';

/**
 * Feeds of the tower over the pictures of all images: `patches` [N, P, patchLength] with the patches of a token
 * adjacent, and `position_weights` [P, side²] in the same order. All pictures have one size.
 */
export class InternVlFeeds implements VisionInputs {
  /** [P, side²] */
  private readonly weights: PerGrid<Float32Array>;

  constructor(private readonly vision: InternVlVision) {
    const { side, mergeSize } = vision;
    this.weights = new PerGrid(([, rows, columns]) => {
      const byRow = bicubicWeights(rows, columns, side);
      const rowOf = (patch: number): Float32Array =>
        byRow.subarray(patch * side ** 2, (patch + 1) * side ** 2);
      const weights = new Float32Array(byRow.length);
      blockOrder(rows, columns, mergeSize).forEach((patch, at) => weights.set(rowOf(patch), at * side ** 2));
      return weights;
    });
  }

  imageTokens({ grid }: ImageGeometry): number {
    this.checkGrid(grid);
    return imageTokensOf(grid, this.vision.mergeSize);
  }

  feeds(images: readonly ImageInput[], memory?: Float32Array): Feeds {
    if (images.length === 0) throw new ModelError('bad-input', 'the vision tower needs at least one image');
    const [, rows, columns] = images[0].grid;
    images.forEach((image, index) => this.check(image, index, rows));
    const order = blockOrder(rows, columns, this.vision.mergeSize);
    const size = patchLength(this.vision);
    const [N, P] = [images.reduce((sum, { grid }) => sum + grid[0], 0), order.length];
    const patches = bufferFor(N * P * size, memory);
    let place = 0;
    for (const image of images) {
      for (let picture = 0; picture < image.grid[0]; picture++) {
        for (const patch of order) {
          const from = (picture * P + patch) * size;
          patches.set(image.patches.subarray(from, from + size), place++ * size);
        }
      }
    }
    const weights = this.weights.of([1, rows, columns]);
    return {
      patches: tensor('float32', patches, [N, P, size]),
      position_weights: tensor('float32', weights, [P, this.vision.side ** 2]),
    };
  }

  /** @throws ModelError unless pictures are squares that consist of whole tokens. */
  private checkGrid([, rows, columns]: ImageGeometry['grid']): void {
    const { mergeSize } = this.vision;
    if (rows === columns && rows % mergeSize === 0) return;
    throw new ModelError(
      'bad-input',
      `pictures of ${rows}×${columns} patches; expected a square with a multiple of ${mergeSize} (1 / downsample_ratio) ` +
        'patches per edge: do preprocessor_config.json and config.json belong to the same model?',
    );
  }

  private check({ grid, patches }: ImageInput, index: number, rows: number): void {
    this.checkGrid(grid);
    const fail = (found: string): ModelError => new ModelError('bad-input', `image ${index}: ${found}`);
    if (grid[1] !== rows) {
      throw fail(`pictures of ${grid[1]}×${grid[2]} patches in a batch of pictures of ${rows}×${rows}`);
    }
    const numbers = grid[0] * grid[1] * grid[2] * patchLength(this.vision);
    if (patches.length !== numbers) {
      throw fail(`grid [${grid.join(', ')}] needs ${numbers} numbers, found ${patches.length}`);
    }
  }
}
