import { tensor, type Tensor } from '@ui-rl/graph';
import type { Feeds, ImageInput } from '../base';
import { patchLength } from '../common/patch-attention';
import { paddedPatches, PatchFeeds, PerGrid } from '../common/patch-feeds';
import { bilinearInterpolation, type Interpolation } from '../common/positions';
import type { Qwen3VisionConfig } from './config';

/** Feeds of the vision tower: those of all Qwen towers, and the weights of the learned position table. */
export class Qwen3VisionFeeds extends PatchFeeds {
  /** Four taps per patch: the dense weights that are fed have thousands of entries, nearly all 0. */
  private readonly interpolations: PerGrid<Interpolation>;

  constructor(private readonly vision: Qwen3VisionConfig) {
    super({ ...vision, patchLength: patchLength(vision) });
    const side = Math.sqrt(vision.positions);
    this.interpolations = new PerGrid((grid) => bilinearInterpolation([grid], side, vision.mergeSize));
  }

  override feeds(images: readonly ImageInput[], memory?: Float32Array): Feeds {
    return { ...super.feeds(images, memory), position_weights: this.positionWeights(images) };
  }

  /** [N, P, positions] */
  private positionWeights(images: readonly ImageInput[]): Tensor {
    const { positions } = this.vision;
    const P = paddedPatches(images);
    const weights = new Float32Array(images.length * P * positions);
    images.forEach(({ grid }, n) => {
      addTaps(this.interpolations.of(grid), weights.subarray(n * P * positions), positions);
    });
    return tensor('float32', weights, [images.length, P, positions]);
  }
}

/** Adds the contribution of each entry of the learned table to each patch to [patches, positions]. */
function addTaps({ indices, weights }: Interpolation, out: Float32Array, positions: number): void {
  indices.forEach((index, tap) => {
    out[(tap >> 2) * positions + index] += weights[tap];
  });
}
