import { tensor, type Tensor } from '@ui-rl/graph';
import { ModelError } from '../../errors';
import type {
  DecodeRow,
  Feeds,
  ImageInput,
  PlacedImage,
  PromptRow,
  TrainerBatch,
  TrainerFeedOptions,
  TrainerRow,
} from '../base';
import type { Qwen3VisionConfig, Qwen3VlConfig } from './config';
import { patchSize } from './names';
import {
  bilinearInterpolation,
  imageTokensOf,
  ropePositions,
  textRopeTables,
  visionPositions,
  visionRopeTables,
  type Grid,
} from './positions';

const excluded = -1e9;

function patchesOf([t, h, w]: Grid): number {
  return t * h * w;
}

function checkImage({ patches, grid }: ImageInput, index: number, size: number): void {
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

/** Copies the first half of each row: tables repeat themselves in the second. */
function copyHalves(table: Float32Array, headDim: number, out: Float32Array, outRow: number): void {
  const half = headDim / 2;
  for (let row = 0; row * headDim < table.length; row++) {
    out.set(table.subarray(row * headDim, row * headDim + half), (outRow + row) * half);
  }
}

/** What the vision tower is told about the places of an image's patches; row-major, one row per patch. */
interface PatchTables {
  /** [P, positions] */
  weights: Float32Array;
  /** [P, headDim / 2] */
  cos: Float32Array;
  sin: Float32Array;
}

const tableLimit = 32;
const tablesByConfig = new WeakMap<Qwen3VisionConfig, Map<string, PatchTables>>();

function computePatchTables(
  { headDim, mergeSize, positions, ropeTheta }: Qwen3VisionConfig,
  grid: Grid,
): PatchTables {
  const P = patchesOf(grid);
  const weights = new Float32Array(P * positions);
  const interpolation = bilinearInterpolation([grid], Math.sqrt(positions), mergeSize);
  interpolation.indices.forEach((index, tap) => {
    weights[(tap >> 2) * positions + index] += interpolation.weights[tap];
  });
  const cos = new Float32Array((P * headDim) / 2);
  const sin = new Float32Array((P * headDim) / 2);
  const tables = visionRopeTables(visionPositions([grid], mergeSize), headDim, ropeTheta);
  copyHalves(tables.cos, headDim, cos, 0);
  copyHalves(tables.sin, headDim, sin, 0);
  return { weights, cos, sin };
}

/** Screens of one run have one size: the tables of the grids seen last are kept. */
function patchTables(vision: Qwen3VisionConfig, grid: Grid): PatchTables {
  const known = tablesByConfig.get(vision) ?? new Map<string, PatchTables>();
  tablesByConfig.set(vision, known);
  const key = grid.join();
  let tables = known.get(key);
  if (tables === undefined) {
    if (known.size >= tableLimit) known.clear();
    tables = computePatchTables(vision, grid);
    known.set(key, tables);
  }
  return tables;
}

/** The longest image of a batch, in patches: what the others are padded to. */
function paddedPatches(images: readonly ImageInput[]): number {
  if (images.length === 0) throw new ModelError('bad-input', 'the vision tower needs at least one image');
  return Math.max(...images.map(({ grid }) => patchesOf(grid)));
}

/** Memory for so many numbers: the beginning of what is given where that is enough. */
function roomFor(count: number, memory: Float32Array | undefined): Float32Array {
  return memory !== undefined && memory.length >= count ? memory.subarray(0, count) : new Float32Array(count);
}

/**
 * Feeds of the vision tower. Images are padded to the longest; image n's features begin at row n · rowsPerImage.
 * @param memory may be taken for the patches
 */
export function visionFeeds(
  { vision }: Qwen3VlConfig,
  images: readonly ImageInput[],
  memory?: Float32Array,
): { feeds: Feeds; rowsPerImage: number } {
  const { headDim, mergeSize, positions } = vision;
  const size = patchSize(vision);
  const N = images.length;
  const P = paddedPatches(images);
  images.forEach((image, index) => checkImage(image, index, size));
  const patches = roomFor(N * P * size, memory);
  const weights = new Float32Array(N * P * positions);
  const cos = new Float32Array((N * P * headDim) / 2);
  const sin = new Float32Array((N * P * headDim) / 2);
  const bias = new Float32Array(N * P);
  images.forEach(({ patches: data, grid }, n) => {
    const tables = patchTables(vision, grid);
    patches.set(data, n * P * size);
    patches.fill(0, n * P * size + data.length, (n + 1) * P * size);
    weights.set(tables.weights, n * P * positions);
    cos.set(tables.cos, (n * P * headDim) / 2);
    sin.set(tables.sin, (n * P * headDim) / 2);
    bias.fill(excluded, n * P + patchesOf(grid), (n + 1) * P);
  });
  const feeds = {
    patches: tensor('float32', patches, [N, P, size]),
    position_weights: tensor('float32', weights, [N, P, positions]),
    vision_cos: tensor('float32', cos, [N, P, headDim / 2]),
    vision_sin: tensor('float32', sin, [N, P, headDim / 2]),
    patch_bias: tensor('float32', bias, [N, P]),
  };
  return { feeds, rowsPerImage: P / mergeSize ** 2 };
}

/** Token ids and rotary tables of right-padded rows, [B, T]. */
function textFeeds(
  config: Qwen3VlConfig,
  rows: readonly { tokenIds: readonly number[]; grids: readonly Grid[] }[],
  T: number,
): Feeds {
  const { headDim, ropeTheta: theta, mropeSection: sections } = config.text;
  const B = rows.length;
  const ids = new BigInt64Array(B * T);
  const cos = new Float32Array((B * T * headDim) / 2);
  const sin = new Float32Array((B * T * headDim) / 2);
  rows.forEach(({ tokenIds, grids }, b) => {
    tokenIds.forEach((id, t) => (ids[b * T + t] = BigInt(id)));
    const tables = textRopeTables(positionsOf(config, tokenIds, grids), { headDim, theta, sections });
    copyHalves(tables.cos, headDim, cos, b * T);
    copyHalves(tables.sin, headDim, sin, b * T);
  });
  return {
    token_ids: tensor('int64', ids, [B, T]),
    text_cos: tensor('float32', cos, [B, T, headDim / 2]),
    text_sin: tensor('float32', sin, [B, T, headDim / 2]),
  };
}

/** Rotary positions [3, T] of a prompt. */
export function positionsOf(
  config: Qwen3VlConfig,
  tokenIds: readonly number[],
  grids: readonly Grid[],
): Int32Array {
  return ropePositions(tokenIds, grids, {
    imageTokenId: config.imageTokenId,
    mergeSize: config.vision.mergeSize,
  });
}

/** Which feature row stands at each token; `featureRows` (the row of zeros behind all features) for text. */
function imageFeeds(
  config: Qwen3VlConfig,
  rows: readonly { tokenIds: readonly number[]; images: readonly PlacedImage[] }[],
  T: number,
  featureRows: number,
): Feeds {
  const B = rows.length;
  const mask = new Float32Array(B * T).fill(1);
  const index = new BigInt64Array(B * T).fill(BigInt(featureRows));
  rows.forEach(({ tokenIds, images }, b) => {
    const sources = images.flatMap(({ grid, firstRow }) =>
      Array.from({ length: imageTokensOf(grid, config.vision.mergeSize) }, (_, i) => firstRow + i),
    );
    let next = 0;
    tokenIds.forEach((id, t) => {
      if (id !== config.imageTokenId) return;
      mask[b * T + t] = 0;
      index[b * T + t] = BigInt(sources[next++]);
    });
  });
  return { text_mask: tensor('float32', mask, [B, T]), image_rows: tensor('int64', index, [B, T]) };
}

/** 0 where a row's cache holds a token, a large negative number behind: [B, 1, 1, C]. */
function cacheBias(rows: readonly DecodeRow[], capacity: number): Tensor {
  const bias = new Float32Array(rows.length * capacity).fill(excluded);
  rows.forEach(({ cached }, b) => bias.fill(0, b * capacity, b * capacity + cached));
  return tensor('float32', bias, [rows.length, 1, 1, capacity]);
}

/** Feeds of the sampler for whole prompts; `featureRows` counts the rows of the image features it gets. */
export function prefillFeeds(
  config: Qwen3VlConfig,
  rows: readonly PromptRow[],
  featureRows: number | null,
): Feeds {
  const T = Math.max(...rows.map(({ tokenIds }) => tokenIds.length));
  if (rows.length === 0 || rows.some(({ tokenIds }) => tokenIds.length === 0)) {
    throw new ModelError('bad-input', 'prefill needs at least one row, and a token in each');
  }
  const text = rows.map(({ tokenIds, images }) => ({ tokenIds, grids: images.map(({ grid }) => grid) }));
  const last = BigInt64Array.from(rows, ({ tokenIds }, b) => BigInt(b * T + tokenIds.length - 1));
  return {
    ...textFeeds(config, text, T),
    last_rows: tensor('int64', last),
    inverse_temperature: tensor('float32', Float32Array.from(rows, inverseTemperature)),
    ...(featureRows === null ? {} : imageFeeds(config, rows, T, featureRows)),
  };
}

/** Feeds of the sampler for one more token per row, over caches with room for `capacity` tokens. */
export function decodeFeeds(config: Qwen3VlConfig, rows: readonly DecodeRow[], capacity: number): Feeds {
  const { headDim, ropeTheta: theta, mropeSection: sections } = config.text;
  const B = rows.length;
  const positions = Int32Array.from({ length: 3 * B }, (_, i) => rows[i % B].position);
  const tables = textRopeTables(positions, { headDim, theta, sections });
  const half = (table: Float32Array): Tensor => {
    const out = new Float32Array((B * headDim) / 2);
    copyHalves(table, headDim, out, 0);
    return tensor('float32', out, [B, 1, headDim / 2]);
  };
  return {
    token_ids: tensor(
      'int64',
      BigInt64Array.from(rows, ({ tokenId }) => BigInt(tokenId)),
      [B, 1],
    ),
    text_cos: half(tables.cos),
    text_sin: half(tables.sin),
    last_rows: tensor(
      'int64',
      BigInt64Array.from(rows, (_, b) => BigInt(b)),
    ),
    inverse_temperature: tensor('float32', Float32Array.from(rows, inverseTemperature)),
    past_bias: cacheBias(rows, capacity),
  };
}

function selectTokens(rows: readonly TrainerRow[]): TrainerBatch['selected'] {
  return rows.flatMap(({ tokenIds, mask }, row) => {
    if (mask.length !== tokenIds.length) {
      throw new ModelError(
        'bad-input',
        `sample ${row}: ${tokenIds.length} tokens but a mask of ${mask.length}`,
      );
    }
    if (mask[0] === 1)
      throw new ModelError(
        'bad-input',
        `sample ${row}: the first token cannot be trained, nothing precedes it`,
      );
    return tokenIds.flatMap((_, token) => (mask[token] === 1 ? [{ row, token }] : []));
  });
}

function inverseTemperature({ temperature = 1 }: { temperature?: number }, row: number): number {
  if (!(temperature > 0)) {
    throw new ModelError(
      'bad-input',
      `row ${row}: temperature: expected a positive number, found ${temperature}`,
    );
  }
  return 1 / temperature;
}

function placeImages(
  rows: readonly TrainerRow[],
  images: readonly ImageInput[],
  rowsPerImage: number,
): PromptRow[] {
  return rows.map(({ tokenIds, images: indices }, row) => ({
    tokenIds,
    images: indices.map((index) => {
      if (images[index] === undefined) {
        throw new ModelError(
          'bad-input',
          `sample ${row}: names image ${index} of a batch of ${images.length}`,
        );
      }
      return { grid: images[index].grid, firstRow: index * rowsPerImage };
    }),
  }));
}

/** Feeds of the trainer for samples that may share images; rows are padded to a multiple of `padTo`. */
export function trainerFeeds(
  config: Qwen3VlConfig,
  rows: readonly TrainerRow[],
  images: readonly ImageInput[],
  { images: kind, padTo = 1, memory }: TrainerFeedOptions,
): TrainerBatch {
  const selected = selectTokens(rows);
  if (selected.length === 0) throw new ModelError('bad-input', 'no token of the batch is to be trained');
  const longest = Math.max(...rows.map(({ tokenIds }) => tokenIds.length));
  const T = Math.ceil(longest / padTo) * padTo;
  const rowsPerImage = kind === 'none' ? 0 : paddedPatches(images) / config.vision.mergeSize ** 2;
  const placed = placeImages(rows, images, rowsPerImage);
  const text = placed.map(({ tokenIds, images: own }) => ({ tokenIds, grids: own.map(({ grid }) => grid) }));
  const inverse = rows.map(inverseTemperature);
  const feeds: Feeds = {
    ...textFeeds(config, text, T),
    selected_rows: tensor(
      'int64',
      BigInt64Array.from(selected, ({ row, token }) => BigInt(row * T + token - 1)),
    ),
    targets: tensor(
      'int64',
      BigInt64Array.from(selected, ({ row, token }) =>
        BigInt((rows[row].targets ?? rows[row].tokenIds)[token]),
      ),
    ),
    inverse_temperature: tensor(
      'float32',
      Float32Array.from(selected, ({ row }) => inverse[row]),
    ),
    ...(kind === 'none' ? {} : imageFeeds(config, placed, T, images.length * rowsPerImage)),
    ...(kind === 'patches' ? visionFeeds(config, images, memory).feeds : {}),
  };
  return { feeds, selected };
}
