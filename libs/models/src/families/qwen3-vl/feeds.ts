import { tensor, type Tensor } from '@ui-rl/graph';
import type { Feeds, ImageInput } from '../base';
import { patchLength } from '../common/patch-attention';
import { paddedPatches, PatchFeeds, patchesOf, PerGrid } from '../common/patch-feeds';
import { bilinearInterpolation, type Grid } from '../common/positions';
import type { Qwen3VisionConfig } from './config';

/** Feeds of the vision tower: those of all Qwen towers, and the weights of the learned position table. */
export class Qwen3VisionFeeds extends PatchFeeds {
  private readonly weights: PerGrid<Float32Array>;

  constructor(private readonly vision: Qwen3VisionConfig) {
    super({ ...vision, patchLength: patchLength(vision) });
    this.weights = new PerGrid((grid) => positionWeights(vision, grid));
  }

  override feeds(images: readonly ImageInput[], memory?: Float32Array): Feeds {
    return { ...super.feeds(images, memory), position_weights: this.positionWeights(images) };
  }

  /** [N, P, positions] */
  private positionWeights(images: readonly ImageInput[]): Tensor {
    const { positions } = this.vision;
    const P = paddedPatches(images);
    const weights = new Float32Array(images.length * P * positions);
    images.forEach(({ grid }, n) => weights.set(this.weights.of(grid), n * P * positions));
    return tensor('float32', weights, [images.length, P, positions]);
  }
}

/** [P, positions]: what each entry of the learned table contributes to each patch. */
function positionWeights({ positions, mergeSize }: Qwen3VisionConfig, grid: Grid): Float32Array {
  const weights = new Float32Array(patchesOf(grid) * positions);
  const interpolation = bilinearInterpolation([grid], Math.sqrt(positions), mergeSize);
  interpolation.indices.forEach((index, tap) => {
    weights[(tap >> 2) * positions + index] += interpolation.weights[tap];
  });
  return weights;
}
