import { tensor } from '@ui-rl/graph';
import type { Feeds, ImageGeometry, ImageInput } from '../base';
import type { VisionInputs } from '../common/model';
import { checkImage, excluded, PerGrid, rotaryHalves, bufferFor } from '../common/patch-feeds';
import { imageTokensOf } from '../common/positions';
import { patchLength } from '../common/patch-attention';
import type { Qwen25VisionConfig } from './config';
import { windowsOf, type Windows } from './windows';

/** Tables that depend only on an image's grid. */
interface GridTables extends Windows {
  /** [patches, headDim / 2], in the order of the image */
  cos: Float32Array;
  sin: Float32Array;
}

/**
 * Feeds of the vision tower over windows: N images of W windows of up to L patches each. `patches` [N, W·L,
 * patchLength], `vision_cos` and `vision_sin` [N, W·L, headDim / 2], `patch_bias` [N, W·L] (0, or a large negative
 * number for padding), `feature_rows` [N·Q]: the index of each image token among the merged windows.
 */
export class Qwen25VisionFeeds implements VisionInputs {
  readonly padsImages = true;
  private readonly tables: PerGrid<GridTables>;

  constructor(private readonly vision: Qwen25VisionConfig) {
    const { mergeSize, windowTokens, headDim, ropeTheta } = vision;
    this.tables = new PerGrid((grid) => ({
      ...windowsOf(grid, mergeSize, windowTokens),
      ...rotaryHalves(grid, mergeSize, headDim, ropeTheta),
    }));
  }

  imageTokens({ grid }: ImageGeometry): number {
    return imageTokensOf(grid, this.vision.mergeSize);
  }

  /** @param memory to reuse for the patches */
  feeds(images: readonly ImageInput[], memory?: Float32Array): Feeds {
    const { mergeSize, windowTokens, headDim } = this.vision;
    const size = patchLength(this.vision);
    images.forEach((image, index) => checkImage(image, index, size));
    const tables = images.map(({ grid }) => this.tables.of(grid));
    const N = images.length;
    const block = mergeSize ** 2;
    const tokens = Math.max(...tables.map(({ count }) => count)) * windowTokens ** 2;
    const P = tokens * block;
    const Q = Math.max(...images.map((image) => this.imageTokens(image)));
    const patches = bufferFor(N * P * size, memory).fill(0);
    const cos = new Float32Array((N * P * headDim) / 2);
    const sin = new Float32Array((N * P * headDim) / 2);
    const bias = new Float32Array(N * P).fill(excluded);
    const rows = new BigInt64Array(N * Q);
    images.forEach(({ patches: data }, n) => {
      const table = tables[n];
      table.positions.forEach((position, token) => {
        const [from, to] = [token * block, n * P + position * block];
        copy(data, from, patches, to, block, size);
        copy(table.cos, from, cos, to, block, headDim / 2);
        copy(table.sin, from, sin, to, block, headDim / 2);
        bias.fill(0, to, to + block);
        rows[n * Q + token] = BigInt(n * tokens + position);
      });
    });
    return {
      patches: tensor('float32', patches, [N, P, size]),
      vision_cos: tensor('float32', cos, [N, P, headDim / 2]),
      vision_sin: tensor('float32', sin, [N, P, headDim / 2]),
      patch_bias: tensor('float32', bias, [N, P]),
      feature_rows: tensor('int64', rows),
    };
  }
}

/** Copies rows of the given length. */
function copy(
  source: Float32Array,
  from: number,
  target: Float32Array,
  to: number,
  rows: number,
  width: number,
): void {
  target.set(source.subarray(from * width, (from + rows) * width), to * width);
}
