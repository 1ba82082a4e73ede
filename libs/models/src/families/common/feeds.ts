import { tensor, type Tensor } from '@ui-rl/graph';
import { ModelError } from '../../errors';
import type {
  DecodeRow,
  Feeds,
  ImageGeometry,
  ImageInput,
  Pack,
  PlacedImage,
  PromptRow,
  TrainerBatch,
  TrainerFeedOptions,
  TrainerRow,
} from '../base';
import { rotaryDimOf, sequenceStep, type RopeConfig } from './decoder-config';
import type { VisionInputs, VisionLanguageModel } from './model';
import { copyHalves } from './patch-feeds';
import { textRopeTables } from './positions';
import { positionsOf } from './token-positions';

const excluded = -1e9;

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}

/** The tokens of a row that a pass reads. */
type ReadPart = Pick<PromptRow, 'tokenIds' | 'cached' | 'until'>;

function readFrom({ cached = 0 }: ReadPart): number {
  return cached;
}

function readLength({ tokenIds, cached = 0, until = tokenIds.length }: ReadPart): number {
  return until - cached;
}

/** Positions [3, n] of the tokens that a pass reads. */
function readPositions(positions: Int32Array, row: ReadPart): Int32Array {
  const length = row.tokenIds.length;
  const [from, count] = [readFrom(row), readLength(row)];
  if (count === length) return positions;
  const read = new Int32Array(3 * count);
  for (let axis = 0; axis < 3; axis++) {
    const begin = axis * length + from;
    read.set(positions.subarray(begin, begin + count), axis * count);
  }
  return read;
}

/** The tokens of a sequence that a pass reads, from number `first` of its B·T on. */
type Placed<Row extends ReadPart> = Row & { first: number };

/** One sequence per row. */
function rowByRow<Row extends ReadPart>(rows: readonly Row[], T: number): Placed<Row>[] {
  return rows.map((row, b) => ({ ...row, first: b * T }));
}

/** Token ids and rotary tables of right-padded rows, [B, T]. */
function textFeeds(
  model: VisionLanguageModel,
  parts: readonly Placed<ReadPart & { images: readonly ImageGeometry[] }>[],
  [B, T]: readonly [number, number],
): Feeds {
  const ids = new BigInt64Array(B * T);
  const placed = parts.map((part): PlacedPositions => {
    const { tokenIds, images, first } = part;
    const from = readFrom(part);
    for (let t = 0; t < readLength(part); t++) ids[first + t] = BigInt(tokenIds[from + t]);
    return { first, positions: readPositions(positionsOf(model, tokenIds, images), part) };
  });
  return { token_ids: tensor('int64', ids, [B, T]), ...ropeFeeds(model, placed, [B, T]) };
}

/** Positions [3, n] of the tokens from number `first` of B·T on. */
interface PlacedPositions {
  first: number;
  positions: Int32Array;
}

/** Rotary tables [B, T, width / 2]. */
function ropeFeeds(
  { text }: VisionLanguageModel,
  placed: readonly PlacedPositions[],
  [B, T]: readonly [number, number],
): Feeds {
  const width = rotaryDimOf(text);
  const tables = (name: string, rope: RopeConfig): Feeds => {
    const cos = new Float32Array((B * T * width) / 2);
    const sin = new Float32Array((B * T * width) / 2);
    for (const { first, positions } of placed) {
      const own = textRopeTables(positions, width, rope);
      copyHalves(own.cos, width, cos, first);
      copyHalves(own.sin, width, sin, first);
    }
    const shape = [B, T, width / 2];
    return { [`${name}_cos`]: tensor('float32', cos, shape), [`${name}_sin`]: tensor('float32', sin, shape) };
  };
  return { ...tables('text', text.rope), ...(text.window && tables('window', text.window.rope)) };
}

/**
 * Index of the last token of this pass that each token attends to: itself, or the last of its image.
 * @throws ModelError if a pass reads only part of an image, whose tokens attend to each other
 */
function maskFeeds(
  { text, imageTokenId, vision }: VisionLanguageModel,
  rows: readonly (ReadPart & { images: readonly ImageGeometry[] })[],
  T: number,
): Feeds {
  if (text.wholeImages !== true) return {};
  const B = rows.length;
  const last = BigInt64Array.from({ length: B * T }, (_, i) => BigInt(i % T));
  rows.forEach((row, b) => {
    const [from, count] = [readFrom(row), readLength(row)];
    let next = 0;
    for (const image of row.images) {
      const begin = row.tokenIds.indexOf(imageTokenId, next);
      next = begin + vision.inputs.imageTokens(image);
      if (next <= from || begin >= from + count) continue;
      if (begin < from || next > from + count) {
        throw new ModelError(
          'bad-input',
          `row ${b}: tokens ${from} to ${from + count - 1} include a part of the image at tokens ${begin} to ${next - 1}; expected all of it or none`,
        );
      }
      last.fill(BigInt(next - 1 - from), b * T + begin - from, b * T + next - from);
    }
  });
  return { last_keys: tensor('int64', last, [B, T]) };
}

/** Index of each token of a pass over caches in its row. */
function placeFeeds({ text }: VisionLanguageModel, rows: readonly { cached?: number }[], T: number): Feeds {
  if (text.window === undefined) return {};
  const B = rows.length;
  const places = BigInt64Array.from({ length: B * T }, (_, i) =>
    BigInt((rows[Math.floor(i / T)].cached ?? 0) + (i % T)),
  );
  return { places: tensor('int64', places, [B, T]) };
}

/** Feature row of each token; `featureRows` (the row of zeros after all features) for text. */
function imageFeeds(
  model: VisionLanguageModel,
  parts: readonly Placed<ReadPart & { images: readonly PlacedImage[] }>[],
  [B, T]: readonly [number, number],
  featureRows: number,
): Feeds {
  const mask = new Float32Array(B * T).fill(1);
  const index = new BigInt64Array(B * T).fill(BigInt(featureRows));
  for (const part of parts) {
    const { tokenIds, images, first } = part;
    const from = readFrom(part);
    const sources = images.flatMap((image) =>
      Array.from({ length: model.vision.inputs.imageTokens(image) }, (_, i) => image.firstRow + i),
    );
    let next = 0;
    tokenIds.forEach((id, place) => {
      if (id !== model.imageTokenId) return;
      const source = sources[next++];
      const t = place - from;
      if (t < 0 || t >= readLength(part)) return;
      mask[first + t] = 0;
      index[first + t] = BigInt(source);
    });
  }
  return { text_mask: tensor('float32', mask, [B, T]), image_rows: tensor('int64', index, [B, T]) };
}

/** 0 where a row's cache holds a token, a large negative number after it: [B, 1, 1, C]. */
function cacheBias(rows: readonly Pick<PromptRow, 'cached'>[], capacity: number): Tensor {
  const bias = new Float32Array(rows.length * capacity).fill(excluded);
  rows.forEach(({ cached = 0 }, b) => bias.fill(0, b * capacity, b * capacity + cached));
  return tensor('float32', bias, [rows.length, 1, 1, capacity]);
}

/** Ends of the tokens in right-padded rows, so that the resulting states are those after the last token. */
function paddingFeeds(model: VisionLanguageModel, rows: readonly ReadPart[], T: number): Feeds {
  const { linearAttention } = model.text;
  if (linearAttention === undefined) return {};
  const B = rows.length;
  const remembered = linearAttention.kernel - 1;
  const mask = new Float32Array(B * T);
  rows.forEach((row, b) => mask.fill(1, b * T, b * T + readLength(row)));
  const last = rows.flatMap((row, b) =>
    Array.from({ length: remembered }, (_, i) => BigInt(b * (T + remembered) + readLength(row) + i)),
  );
  return {
    token_mask: tensor('float32', mask, [B, T]),
    last_tokens: tensor('int64', BigInt64Array.from(last), [B, remembered]),
  };
}

/** Feeds of the sampler for prompts, see `Family.prefillFeeds`. */
export function prefillFeeds(
  model: VisionLanguageModel,
  rows: readonly PromptRow[],
  featureRows: number | null,
  capacity?: number,
): Feeds {
  const T = Math.max(...rows.map(readLength));
  if (rows.length === 0 || rows.some((row) => readLength(row) < 1)) {
    throw new ModelError('bad-input', 'prefill needs at least one row, and a token in each');
  }
  const last = BigInt64Array.from(rows, (row, b) => BigInt(b * T + readLength(row) - 1));
  const parts = rowByRow(rows, T);
  const extent = [rows.length, T] as const;
  return {
    ...textFeeds(model, parts, extent),
    ...maskFeeds(model, rows, T),
    ...paddingFeeds(model, rows, T),
    last_rows: tensor('int64', last),
    inverse_temperature: tensor('float32', Float32Array.from(rows, inverseTemperature)),
    ...(featureRows === null ? {} : imageFeeds(model, parts, extent, featureRows)),
    ...(capacity === undefined
      ? {}
      : { past_bias: cacheBias(rows, capacity), ...placeFeeds(model, rows, T) }),
  };
}

/** Feeds of the sampler for one more token per row, over caches with capacity for `capacity` tokens. */
export function decodeFeeds(model: VisionLanguageModel, rows: readonly DecodeRow[], capacity: number): Feeds {
  const B = rows.length;
  const positions = Int32Array.from({ length: 3 * B }, (_, i) => rows[i % B].position);
  return {
    token_ids: tensor(
      'int64',
      BigInt64Array.from(rows, ({ tokenId }) => BigInt(tokenId)),
      [B, 1],
    ),
    ...ropeFeeds(model, [{ first: 0, positions }], [B, 1]),
    ...placeFeeds(model, rows, 1),
    last_rows: tensor(
      'int64',
      BigInt64Array.from(rows, (_, b) => BigInt(b)),
    ),
    inverse_temperature: tensor('float32', Float32Array.from(rows, inverseTemperature)),
    past_bias: cacheBias(rows, capacity),
  };
}

function leastCommonMultiple(a: number, b: number): number {
  let multiple = b;
  while (multiple % a !== 0) multiple += b;
  return multiple;
}

function selectPositions(rows: readonly TrainerRow[]): TrainerBatch['selected'] {
  return rows.flatMap(({ tokenIds, targets, selected }, row) => {
    for (const [name, { length }] of Object.entries({ targets, 'selected places': selected })) {
      if (length === tokenIds.length) continue;
      throw new ModelError('bad-input', `sample ${row}: ${tokenIds.length} tokens but ${length} ${name}`);
    }
    return tokenIds.flatMap((_, position) => (selected[position] !== 0 ? [{ row, position }] : []));
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

/** Number of feature rows of each image in a batch, padding included. */
export function featureRowsOf(inputs: VisionInputs, images: readonly ImageInput[]): number[] {
  const tokens = images.map((image) => inputs.imageTokens(image));
  const longest = Math.max(...tokens);
  return inputs.padsImages === true ? tokens.map(() => longest) : tokens;
}

/** First feature row of each image. */
export function firstRowsOf(featureRows: readonly number[]): number[] {
  let next = 0;
  return featureRows.map((rows) => (next += rows) - rows);
}

function placeImages(
  rows: readonly TrainerRow[],
  images: readonly ImageInput[],
  firstRows: readonly number[],
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
      return { ...images[index], firstRow: firstRows[index] };
    }),
  }));
}

function roundedUp(count: number, step: number): number {
  return Math.ceil(count / step) * step;
}

/** The sequences of packs, each at the next multiple of `step` after the one before it in its row. */
function packedRows<Row extends ReadPart>(
  rows: readonly Row[],
  packs: readonly Pack[],
  step: number,
): { parts: (Row & { pack: number; start: number })[]; lengths: number[] } {
  const parts: (Row & { pack: number; start: number })[] = [];
  const lengths = packs.map(({ rows: members, shared }, pack) => {
    if (shared % step !== 0) {
      throw new ModelError(
        'bad-input',
        `pack ${pack} shares ${shared} tokens; expected a multiple of ${step}`,
      );
    }
    let start = 0;
    for (const member of members) {
      const row = { ...rows[member], cached: start === 0 ? 0 : shared };
      parts[member] = { ...row, pack, start };
      start += roundedUp(readLength(row), step);
    }
    return start;
  });
  return { parts, lengths };
}

/**
 * Number of a sequence's token among the B·T of a pass.
 * @throws ModelError if the pass does not read it there
 */
function placeOf(part: Placed<ReadPart>, position: number): number {
  const place = position - readFrom(part);
  if (place >= 0) return part.first + place;
  throw new ModelError(
    'bad-input',
    `position ${position} is selected, but is one of the ${readFrom(part)} tokens that its pack shares`,
  );
}

/** Lengths of the shared beginnings, and where each token's own sequence continues them. */
function packFeeds(
  parts: readonly (ReadPart & { pack: number; start: number })[],
  packs: readonly Pack[],
  T: number,
): Feeds {
  const B = packs.length;
  const shared = BigInt64Array.from(packs, ({ shared: tokens }) => BigInt(tokens));
  const starts = new BigInt64Array(B * T);
  for (let b = 0; b < B; b++) starts.fill(shared[b], b * T, (b + 1) * T);
  for (const part of parts) {
    const first = part.pack * T + part.start;
    if (part.start > 0) starts.fill(BigInt(part.start), first, first + readLength(part));
  }
  return {
    shared_tokens: tensor('int64', shared, [B, 1]),
    sequence_starts: tensor('int64', starts, [B, T]),
  };
}

/** Feeds of the trainer for samples that may share images; rows are padded to a multiple of `padTo`. */
export function trainerFeeds(
  model: VisionLanguageModel,
  rows: readonly TrainerRow[],
  images: readonly ImageInput[],
  { images: kind, packs, padTo = 1, memory }: TrainerFeedOptions,
): TrainerBatch {
  const step = sequenceStep(model.text);
  const selected = selectPositions(rows);
  if (selected.length === 0) throw new ModelError('bad-input', 'no position of the batch is selected');
  const featureRows = kind === 'none' ? images.map(() => 0) : featureRowsOf(model.vision.inputs, images);
  const placed = placeImages(rows, images, firstRowsOf(featureRows));
  const { parts, lengths } = packedRows(
    placed,
    packs ?? placed.map((_, row) => ({ rows: [row], shared: 0 })),
    step,
  );
  const T = roundedUp(Math.max(...lengths), leastCommonMultiple(padTo, step));
  const extent = [lengths.length, T] as const;
  const tokens = parts.map((part) => ({ ...part, first: part.pack * T + part.start }));
  const inverse = rows.map(inverseTemperature);
  const feeds: Feeds = {
    ...textFeeds(model, tokens, extent),
    ...maskFeeds(model, placed, T),
    ...(packs === undefined ? {} : packFeeds(parts, packs, T)),
    selected_rows: tensor(
      'int64',
      BigInt64Array.from(selected, ({ row, position }) => BigInt(placeOf(tokens[row], position))),
    ),
    targets: tensor(
      'int64',
      BigInt64Array.from(selected, ({ row, position }) => BigInt(rows[row].targets[position])),
    ),
    inverse_temperature: tensor(
      'float32',
      Float32Array.from(selected, ({ row }) => inverse[row]),
    ),
    ...(kind === 'none' ? {} : imageFeeds(model, tokens, extent, sum(featureRows))),
    ...(kind === 'patches' ? model.vision.inputs.feeds(images, memory) : {}),
  };
  return { feeds, selected, featureRows };
}
