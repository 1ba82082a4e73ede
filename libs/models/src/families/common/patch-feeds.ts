import { tensor } from '@ui-rl/graph';
import { ModelError } from '../../errors';
import type { Feeds, ImageGeometry, ImageInput } from '../base';
import type { VisionInputs } from './model';
import { imageTokensOf, visionPositions, visionRopeTables, type Grid } from './positions';

/** Patch geometry of the Qwen families' vision towers. */
export interface PatchGeometry {
  /** numbers in a patch of a still image: channels · rows · columns */
  patchLength: number;
  /** patches per token and axis */
  mergeSize: number;
  headDim: number;
  ropeTheta: number;
}

/** Score bias of absent positions. */
export const excluded = -1e9;

export function patchesOf([t, h, w]: Grid): number {
  return t * h * w;
}

/** @throws ModelError if an image is not still or its patches do not match its grid. */
export function checkImage({ patches, grid }: ImageInput, index: number, size: number): void {
  if (grid[0] !== 1) {
    throw new ModelError(
      'unsupported',
      `image ${index}: a grid of ${grid[0]} frames; only still images are supported`,
    );
  }
  if (patches.length !== patchesOf(grid) * size) {
    throw new ModelError(
      'bad-input',
      `image ${index}: grid [${grid.join(', ')}] needs ${patchesOf(grid)} patches of ${size} numbers, found ${patches.length} numbers`,
    );
  }
}

/** Copies the first half of each row: the second half of the table repeats it. */
export function copyHalves(table: Float32Array, headDim: number, out: Float32Array, outRow: number): void {
  const half = headDim / 2;
  for (let row = 0; row * headDim < table.length; row++) {
    out.set(table.subarray(row * headDim, row * headDim + half), (outRow + row) * half);
  }
}

/** Rotary tables of an image's patches, [P, headDim / 2]: each angle once. */
export function rotaryHalves(
  grid: Grid,
  mergeSize: number,
  headDim: number,
  ropeTheta: number,
): { cos: Float32Array; sin: Float32Array } {
  const cos = new Float32Array((patchesOf(grid) * headDim) / 2);
  const sin = new Float32Array((patchesOf(grid) * headDim) / 2);
  const tables = visionRopeTables(visionPositions([grid], mergeSize), headDim, ropeTheta);
  copyHalves(tables.cos, headDim, cos, 0);
  copyHalves(tables.sin, headDim, sin, 0);
  return { cos, sin };
}

/** Caches values that depend only on the grid: the screens of a run have the same size. */
export class PerGrid<T> {
  private static readonly limit = 32;
  private readonly known = new Map<string, T>();

  constructor(private readonly make: (grid: Grid) => T) {}

  of(grid: Grid): T {
    const key = grid.join();
    let value = this.known.get(key);
    if (value === undefined) {
      if (this.known.size >= PerGrid.limit) this.known.clear();
      value = this.make(grid);
      this.known.set(key, value);
    }
    return value;
  }
}

/** The longest image of a batch, in patches, to which the others are padded. */
export function paddedPatches(images: readonly ImageInput[]): number {
  if (images.length === 0) throw new ModelError('bad-input', 'the vision tower needs at least one image');
  return Math.max(...images.map(({ grid }) => patchesOf(grid)));
}

/** Memory for this many numbers: the start of the given memory if it is large enough. */
export function bufferFor(count: number, memory: Float32Array | undefined): Float32Array {
  return memory !== undefined && memory.length >= count ? memory.subarray(0, count) : new Float32Array(count);
}

/**
 * Feeds of a tower over the patches of N images, each padded to P: `patches` [N, P, patchLength], `vision_cos` and
 * `vision_sin` [N, P, headDim / 2] (row and column of each patch), `patch_bias` [N, P] (0, or a large negative number
 * for padding).
 */
export class PatchFeeds implements VisionInputs {
  readonly padsImages = true;
  private readonly tables: PerGrid<{ cos: Float32Array; sin: Float32Array }>;

  constructor(private readonly geometry: PatchGeometry) {
    const { mergeSize, headDim, ropeTheta } = geometry;
    this.tables = new PerGrid((grid) => rotaryHalves(grid, mergeSize, headDim, ropeTheta));
  }

  imageTokens({ grid }: ImageGeometry): number {
    return imageTokensOf(grid, this.geometry.mergeSize);
  }

  /** @param memory to reuse for the patches */
  feeds(images: readonly ImageInput[], memory?: Float32Array): Feeds {
    const { patchLength: size, headDim } = this.geometry;
    const N = images.length;
    const P = paddedPatches(images);
    images.forEach((image, index) => checkImage(image, index, size));
    const patches = bufferFor(N * P * size, memory);
    const cos = new Float32Array((N * P * headDim) / 2);
    const sin = new Float32Array((N * P * headDim) / 2);
    const bias = new Float32Array(N * P);
    images.forEach(({ patches: data, grid }, n) => {
      const tables = this.tables.of(grid);
      patches.set(data, n * P * size);
      patches.fill(0, n * P * size + data.length, (n + 1) * P * size);
      cos.set(tables.cos, (n * P * headDim) / 2);
      sin.set(tables.sin, (n * P * headDim) / 2);
      bias.fill(excluded, n * P + patchesOf(grid), (n + 1) * P);
    });
    return {
      patches: tensor('float32', patches, [N, P, size]),
      vision_cos: tensor('float32', cos, [N, P, headDim / 2]),
      vision_sin: tensor('float32', sin, [N, P, headDim / 2]),
      patch_bias: tensor('float32', bias, [N, P]),
    };
  }
}
