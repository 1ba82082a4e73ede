/**
 * Positions of tokens and patches: plain data as inputs of the graphs.
 *
 * Shapes: T tokens, P patches of all images together, G images. Patches are in merge-block order: image after image,
 * frame after frame, then blocks of `mergeSize × mergeSize` patches row by row, inside a block row by row.
 */
import { ModelError } from '../../errors';
import type { ImageGeometry } from '../base';
import type { RopeConfig } from './decoder-config';
import { scaleFrequencies } from './rope-scaling';

/** Patches of one image: frames, rows, columns. */
export type Grid = readonly [t: number, h: number, w: number];

export interface RopePositionOptions {
  imageTokenId: number;
  /** `vision_config.spatial_merge_size`: number of patches per axis that become one token. */
  mergeSize: number;
}

/** Number of prompt tokens of an image with this grid. */
export function imageTokensOf([t, h, w]: Grid, mergeSize: number): number {
  return (t * h * w) / (mergeSize * mergeSize);
}

/**
 * M-RoPE positions of every token, row-major [3, T]: temporal, height and width.
 *
 * Text counts up on all three axes. An image that starts at position p has p + (frame, row, column) of its merged
 * grid, and the text after it continues at p + max(rows, columns) (`get_rope_index` of transformers).
 *
 * @throws ModelError `bad-input` if placeholders and grids do not match.
 */
export function ropePositions(
  tokenIds: ArrayLike<number>,
  grids: readonly Grid[],
  { imageTokenId, mergeSize }: RopePositionOptions,
): Int32Array {
  const length = tokenIds.length;
  const positions = new Int32Array(3 * length);
  let next = 0;
  let image = 0;
  for (let index = 0; index < length;) {
    if (tokenIds[index] !== imageTokenId) {
      for (let axis = 0; axis < 3; axis++) positions[axis * length + index] = next;
      next++;
      index++;
      continue;
    }
    const grid = grids[image];
    if (grid === undefined) {
      throw new ModelError(
        'bad-input',
        `image placeholder ${imageTokenId} at token ${index} belongs to image ${image}, but only ${grids.length} grids were given`,
      );
    }
    checkRun(tokenIds, index, grid, image, { imageTokenId, mergeSize });
    writeImagePositions(positions, index, next, grid, mergeSize);
    index += imageTokensOf(grid, mergeSize);
    next += Math.max(grid[1], grid[2]) / mergeSize;
    image++;
  }
  if (image !== grids.length) {
    throw new ModelError(
      'bad-input',
      `${grids.length} grids were given, but the tokens hold placeholders of ${image} images`,
    );
  }
  return positions;
}

/** {@link ropePositions} of a model. */
export function multimodalPositions(
  options: RopePositionOptions,
): (tokenIds: readonly number[], images: readonly ImageGeometry[]) => Int32Array {
  return (tokenIds, images) =>
    ropePositions(
      tokenIds,
      images.map(({ grid }) => grid),
      options,
    );
}

function checkRun(
  tokenIds: ArrayLike<number>,
  start: number,
  grid: Grid,
  image: number,
  { imageTokenId, mergeSize }: RopePositionOptions,
): void {
  const expected = imageTokensOf(grid, mergeSize);
  let found = 0;
  while (found < expected && tokenIds[start + found] === imageTokenId) found++;
  if (found === expected && tokenIds[start + found] !== imageTokenId) return;
  throw new ModelError(
    'bad-input',
    `image ${image} of grid [${grid.join(', ')}] needs ${expected} placeholders (merge size ${mergeSize}) at token ${start}, found ${
      found === expected ? 'more' : found
    }`,
  );
}

function writeImagePositions(
  positions: Int32Array,
  start: number,
  offset: number,
  grid: Grid,
  mergeSize: number,
): void {
  const length = positions.length / 3;
  const [frames, rows, columns] = [grid[0], grid[1] / mergeSize, grid[2] / mergeSize];
  let index = start;
  for (let frame = 0; frame < frames; frame++) {
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++, index++) {
        positions[index] = offset + frame;
        positions[length + index] = offset + row;
        positions[2 * length + index] = offset + column;
      }
    }
  }
}

/**
 * Offset from the index of a token after the prompt to its position, the same on all three axes: the token generated
 * at sequence index i (0 is the first of the prompt) has position i + delta. Zero or negative.
 */
export function ropeDelta(positions: Int32Array): number {
  const length = positions.length / 3;
  let last = -1;
  for (const position of positions) last = Math.max(last, position);
  return last + 1 - length;
}

/** Row and column of every patch, row-major [P, 2], for the vision model's rotary embedding. */
export function visionPositions(grids: readonly Grid[], mergeSize: number): Int32Array {
  const positions = new Int32Array(2 * countPatches(grids));
  let patch = 0;
  forEachPatch(grids, mergeSize, (row, column) => {
    positions[2 * patch] = row;
    positions[2 * patch + 1] = column;
    patch++;
  });
  return positions;
}

export interface Interpolation {
  /** Rows of the position-embedding table, row-major [P, 4]. */
  indices: Int32Array;
  /** Their weights, row-major [P, 4]; each row sums to 1. */
  weights: Float32Array;
}

/**
 * Resizes the learned, square table of position embeddings to each image's grid by bilinear interpolation with
 * aligned corners: embedding of patch p = Σₖ weights[p, k] · table[indices[p, k]].
 *
 * @param side rows (= columns) of the table, √`vision_config.num_position_embeddings`.
 */
export function bilinearInterpolation(
  grids: readonly Grid[],
  side: number,
  mergeSize: number,
): Interpolation {
  const patches = countPatches(grids);
  const indices = new Int32Array(4 * patches);
  const weights = new Float32Array(4 * patches);
  let at = 0;
  forEachPatch(grids, mergeSize, (row, column, [, h, w]) => {
    const vertical = taps(row, h, side);
    const horizontal = taps(column, w, side);
    for (let v = 0; v < 2; v++) {
      for (let u = 0; u < 2; u++, at++) {
        indices[at] = vertical.index[v] * side + horizontal.index[u];
        weights[at] = vertical.weight[v] * horizontal.weight[u];
      }
    }
  });
  return { indices, weights };
}

const { fround } = Math;

/** The two table rows adjacent to position `index` of `size`; in float32, as the reference computes it. */
function taps(
  index: number,
  size: number,
  side: number,
): { index: [number, number]; weight: [number, number] } {
  const source = fround(fround(index * (side - 1)) / Math.max(size - 1, 1));
  const floor = Math.floor(source);
  const fraction = fround(source - floor);
  return { index: [floor, Math.min(floor + 1, side - 1)], weight: [fround(1 - fraction), fraction] };
}

export interface RopeTables {
  /** Row-major [rows, headDim]; the second half of a row repeats the first. */
  cos: Float32Array;
  sin: Float32Array;
}

/**
 * Rotary tables of the text model, [T, headDim]. Each dimension pair rotates with time, height or width. Interleaved
 * (Qwen3-VL): pair 0 with time, 1 with height, 2 with width, 3 with time … until the sections of height and width are
 * used up, the rest with time. Otherwise (Qwen2-VL) section after section.
 *
 * @param positions row-major [3, T].
 */
export function textRopeTables(positions: Int32Array, headDim: number, rope: RopeConfig): RopeTables {
  const length = positions.length / 3;
  const half = headDim / 2;
  const angles = anglesOf(rope, headDim);
  const { axes } = angles;
  const tables = emptyTables(length, headDim);
  const turns = new Array<RopeTables>(3);
  for (let token = 0; token < length; token++) {
    for (let axis = 0; axis < 3; axis++) turns[axis] = angles.at(positions[axis * length + token]);
    for (let pair = 0; pair < half; pair++) {
      const at = token * headDim + pair;
      const { cos, sin } = turns[axes[pair]];
      tables.cos[at] = tables.cos[at + half] = cos[pair];
      tables.sin[at] = tables.sin[at + half] = sin[pair];
    }
  }
  return tables;
}

/** Caches the angles of a text model's positions: every pass uses the same few hundred. */
class RopeAngles {
  /** the axis that each pair rotates with */
  readonly axes: readonly (0 | 1 | 2)[];
  private readonly frequencies: Float32Array;
  private readonly known = new Map<number, RopeTables>();

  constructor(
    rope: RopeConfig,
    readonly headDim: number,
  ) {
    this.frequencies = scaleFrequencies(inverseFrequencies(rope.theta, headDim), rope.scaling);
    this.axes = Array.from(this.frequencies, (_, pair) => axisOfPair(pair, rope));
  }

  /** Cosine and sine of each pair, [headDim / 2]. */
  at(position: number): RopeTables {
    let found = this.known.get(position);
    if (found === undefined) {
      const angles = this.frequencies.map((frequency) => position * frequency);
      found = { cos: angles.map(Math.cos), sin: angles.map(Math.sin) };
      this.known.set(position, found);
    }
    return found;
  }
}

const knownAngles = new WeakMap<RopeConfig, RopeAngles>();

function anglesOf(rope: RopeConfig, headDim: number): RopeAngles {
  let found = knownAngles.get(rope);
  if (found?.headDim !== headDim) {
    found = new RopeAngles(rope, headDim);
    knownAngles.set(rope, found);
  }
  return found;
}

function axisOfPair(pair: number, { sections, interleaved }: RopeConfig): 0 | 1 | 2 {
  if (sections === null) return 0;
  if (!interleaved) return pair < sections[0] ? 0 : pair < sections[0] + sections[1] ? 1 : 2;
  const axis = (pair % 3) as 0 | 1 | 2;
  return axis > 0 && pair < 3 * sections[axis] ? axis : 0;
}

/**
 * Rotary tables of the vision model, [P, headDim]: the first quarter of the dimensions rotates with the row, the
 * second with the column, and the second half repeats the first.
 *
 * @param positions row-major [P, 2], see {@link visionPositions}.
 * @param theta `vision_config.rope_parameters.rope_theta`, default 10,000.
 */
export function visionRopeTables(positions: Int32Array, headDim: number, theta = 10_000): RopeTables {
  const patches = positions.length / 2;
  const half = headDim / 2;
  const quarter = headDim / 4;
  const frequencies = inverseFrequencies(theta, half);
  const tables = emptyTables(patches, headDim);
  for (let patch = 0; patch < patches; patch++) {
    for (let axis = 0; axis < 2; axis++) {
      for (let pair = 0; pair < quarter; pair++) {
        const angle = fround(positions[2 * patch + axis] * frequencies[pair]);
        writeAngle(tables, patch * headDim + axis * quarter + pair, half, angle);
      }
    }
  }
  return tables;
}

/** 1 / theta^(2i / dim) for i < dim / 2, rounded to float32 step by step as the reference does. */
function inverseFrequencies(theta: number, dim: number): Float32Array {
  return Float32Array.from({ length: dim / 2 }, (_, pair) => 1 / fround(theta ** fround((2 * pair) / dim)));
}

function emptyTables(rows: number, headDim: number): RopeTables {
  return { cos: new Float32Array(rows * headDim), sin: new Float32Array(rows * headDim) };
}

function writeAngle({ cos, sin }: RopeTables, at: number, half: number, angle: number): void {
  cos[at] = cos[at + half] = Math.cos(angle);
  sin[at] = sin[at + half] = Math.sin(angle);
}

function countPatches(grids: readonly Grid[]): number {
  return grids.reduce((sum, [t, h, w]) => sum + t * h * w, 0);
}

function forEachPatch(
  grids: readonly Grid[],
  merge: number,
  visit: (row: number, column: number, grid: Grid) => void,
): void {
  for (const grid of grids) {
    const [frames, height, width] = grid;
    for (let frame = 0; frame < frames; frame++) {
      for (let blockRow = 0; blockRow < height; blockRow += merge) {
        for (let blockColumn = 0; blockColumn < width; blockColumn += merge) {
          for (let row = blockRow; row < blockRow + merge; row++) {
            for (let column = blockColumn; column < blockColumn + merge; column++) visit(row, column, grid);
          }
        }
      }
    }
  }
}
