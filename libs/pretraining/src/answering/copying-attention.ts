import type { FloatTensor } from '@ui-rl/models';
import { Random } from '@ui-rl/random';
import { principalComponents } from '../whiten';
import {
  COMPONENTS,
  type DecoderShape,
  dimensionOf,
  headInputs,
  headOutputs,
  scaleNormed,
} from './decoder-matrices';

/** Query and key of heads that attend to a neighboring token turn with the highest rotary frequencies. */
const FAST_WEIGHTS = [0.4, 0.3, 0.2, 0.1].map(Math.sqrt);
const ROPE_THETA = 10_000;
/** Scales of `q_norm` and `k_norm`: the product sharpens the attention of a new model. */
const FAST_NORM = 3;
const SLOW_NORM = 2;
/** Weight of the component that all tokens share, relative to the length of a token's embedding. */
const SHARED = 0.35;
/** Length of a copied character relative to its embedding, large enough to be the most probable next token. */
const COPIED = 6;
/** Scale of what heads read; what they write makes up for it. */
const EARLIER_VALUE = 0.3;
const COPIED_VALUE = 0.5;
/** Components are divided by √(variance + this fraction of the largest). */
const RIDGE = 0.3;
const EMBEDDINGS = 'model.language_model.embed_tokens.weight';

/** Directions of the residual stream, rows of unit length [N, width]. */
interface Directions {
  /** Principal components of characters, as many as two value heads read. */
  characters: Float64Array[];
  variances: Float64Array;
  /** Where the first layer writes the characters one and two tokens earlier. */
  earlier: [Float64Array[], Float64Array[]];
  /** A component that all tokens share. */
  shared: Float64Array;
}

export interface TokensToCopy {
  /** Embeddings of characters [N, width]. */
  characters: Float32Array;
  /** Embeddings of coordinates [N, width], which share no direction with what this function adds. */
  coordinates: Float32Array;
}

/**
 * Makes a new decoder continue repeated text: induction heads, which training discovers late in small models
 * (Olsson et al. 2022, arXiv:2209.11895). Two heads of the first layer write the characters one and two tokens
 * earlier; heads of the second layer attend to the token after an earlier occurrence of the same characters, and copy
 * it. A text of the goal is then typed character by character once its beginning is found.
 *
 * @param tensors of the model, changed in place
 * @param features root mean square of the features of image tokens
 */
export function setCopyingAttention(
  tensors: ReadonlyMap<string, FloatTensor>,
  tokens: TokensToCopy,
  features: number,
  shape: DecoderShape,
): void {
  const directions = directionsFor(tokens, shape);
  shareComponent(tensors, directions, features, shape);
  setEarlierTokens(tensors, directions, shape);
  setInduction(tensors, directions, shape);
}

function directionsFor(
  { characters, coordinates }: TokensToCopy,
  { width, headDim }: DecoderShape,
): Directions {
  const random = new Random(2);
  const { vectors, values } = principalComponents(characters, width, 2 * headDim, random);
  const components = rowsOf(vectors, width);
  const taken = orthonormal([...rowsOf(characters, width), ...rowsOf(coordinates, width)]);
  const free = Array.from({ length: 2 * headDim + 1 }, () =>
    Float64Array.from({ length: width }, () => random.next() - 0.5),
  );
  const added = orthonormal(free, taken);
  if (added.length < free.length)
    throw new Error(`${width} dimensions are too few for ${taken.length} tokens`);
  return {
    characters: components,
    variances: values,
    earlier: [added.slice(0, headDim), added.slice(headDim, 2 * headDim)],
    shared: added[2 * headDim],
  };
}

/** Queries and keys that depend on positions only need a component that no token lacks. */
function shareComponent(
  tensors: ReadonlyMap<string, FloatTensor>,
  { shared }: Directions,
  features: number,
  { width }: DecoderShape,
): void {
  const add = (rows: Float32Array, size: number) =>
    rows.forEach((_, at) => (rows[at] += SHARED * size * Math.sqrt(width) * shared[at % width]));
  const embeddings = tensors.get(EMBEDDINGS)!.data;
  add(embeddings, rootMeanSquare(embeddings));
  add(tensors.get('model.visual.merger.linear_fc2.bias')!.data, features);
}

function setEarlierTokens(
  tensors: ReadonlyMap<string, FloatTensor>,
  { characters, earlier, shared }: Directions,
  shape: DecoderShape,
): void {
  const { headDim, heads, keyHeads } = shape;
  const { query, key, value, output } = headsOf(tensors, 0, shape);
  const group = heads / keyHeads;
  const last = keyHeads - 1;
  const size = rootMeanSquare(tensors.get(EMBEDDINGS)!.data);
  key.clear(last);
  FAST_WEIGHTS.forEach((weight, index) => {
    key.set(last, index, shared, weight);
    for (const dimension of [index, index + headDim / 2]) scaleNormed(tensors, 0, dimension, FAST_NORM);
  });
  for (let dimension = 0; dimension < headDim; dimension++)
    value.set(last, dimension, characters[dimension], EARLIER_VALUE);
  for (let tokens = 1; tokens <= 2; tokens++) {
    const head = last * group + ((tokens - 1) % group);
    query.clear(head);
    FAST_WEIGHTS.forEach((weight, index) => {
      const angle = -tokens * ROPE_THETA ** (-index / (headDim / 2));
      query.set(head, index, shared, weight * Math.cos(angle));
      query.set(head, index + headDim / 2, shared, weight * Math.sin(angle));
    });
    for (let dimension = 0; dimension < headDim; dimension++) {
      output.set(head, dimension, earlier[tokens - 1][dimension], size / EARLIER_VALUE);
    }
  }
}

function setInduction(
  tensors: ReadonlyMap<string, FloatTensor>,
  { characters, variances, earlier: [previous, second] }: Directions,
  shape: DecoderShape,
): void {
  const { headDim, heads, keyHeads } = shape;
  const { query, key, value, output } = headsOf(tensors, 1, shape);
  const group = heads / keyHeads;
  const half = COMPONENTS / 2;
  const at = (index: number) => dimensionOf(index, headDim);
  for (let index = 0; index < COMPONENTS; index++) scaleNormed(tensors, 1, at(index), SLOW_NORM);
  // After the first layer, the stream has the characters of three tokens.
  const size = rootMeanSquare(tensors.get(EMBEDDINGS)!.data) * Math.sqrt(3);
  for (let pair = 0; pair < 2; pair++) {
    const keyHead = keyHeads - 2 + pair;
    const queryHeads = Array.from({ length: group }, (_, each) => keyHead * group + each);
    key.clear(keyHead);
    for (const head of queryHeads) query.clear(head);
    for (let index = 0; index < half; index++) {
      const component = pair * half + index;
      const scale = 1 / Math.sqrt(variances[component] + RIDGE * variances[0]);
      key.set(keyHead, at(index), previous[component], scale);
      key.set(keyHead, at(half + index), second[component], scale);
      for (const head of queryHeads) query.set(head, at(index), characters[component], scale);
      // The first head of a group matches two characters, the others match one.
      query.set(queryHeads[0], at(half + index), previous[component], scale);
    }
    for (let dimension = 0; dimension < headDim; dimension++) {
      const character = characters[pair * headDim + dimension];
      value.set(keyHead, dimension, character, COPIED_VALUE);
      for (const head of queryHeads)
        output.set(head, dimension, character, (COPIED * size) / group / COPIED_VALUE);
    }
  }
}

/** Attention matrices of a layer. */
function headsOf(tensors: ReadonlyMap<string, FloatTensor>, layer: number, shape: DecoderShape) {
  return {
    query: headInputs(tensors, layer, 'q', shape),
    key: headInputs(tensors, layer, 'k', shape),
    value: headInputs(tensors, layer, 'v', shape),
    output: headOutputs(tensors, layer, shape),
  };
}

/** Directions of the coordinates of an axis that heads read. */
const AXIS_COMPONENTS = 24;
/** Layers, from the last one, whose first heads pass coordinates on. */
export const READOUT_LAYERS = 2;
const READOUT = { value: 0.6, output: 0.3 };

/**
 * Makes two groups of heads in the last layers pass on the column and the row of the image tokens they attend to: a
 * click is then learned as soon as they attend to its target.
 *
 * @param axes embeddings [N, width] of the x and of the y coordinates
 */
export function setCoordinateReadout(
  tensors: ReadonlyMap<string, FloatTensor>,
  axes: readonly Float32Array[],
  layers: number,
  shape: DecoderShape,
): void {
  const group = shape.heads / shape.keyHeads;
  axes.forEach((coordinates, keyHead) => {
    const { vectors } = principalComponents(coordinates, shape.width, AXIS_COMPONENTS, new Random(3));
    const components = rowsOf(vectors, shape.width);
    for (let layer = layers - READOUT_LAYERS; layer < layers; layer++) {
      const value = headInputs(tensors, layer, 'v', shape);
      const output = headOutputs(tensors, layer, shape);
      components.forEach((component, dimension) => {
        value.set(keyHead, dimension, component, READOUT.value);
        for (let head = keyHead * group; head < (keyHead + 1) * group; head++) {
          output.set(head, dimension, component, READOUT.output);
        }
      });
    }
  });
}

function rowsOf(matrix: Float32Array | Float64Array, width: number): Float64Array[] {
  return Array.from({ length: matrix.length / width }, (_, row) =>
    Float64Array.from(matrix.subarray(row * width, (row + 1) * width)),
  );
}

/** Orthonormal directions of the span of rows, also orthogonal to `others`; rows inside the span add none. */
function orthonormal(rows: readonly Float64Array[], others: readonly Float64Array[] = []): Float64Array[] {
  const found: Float64Array[] = [];
  for (const row of rows) {
    const rest = Float64Array.from(row);
    const before = lengthOf(rest);
    for (const base of [...others, ...found]) {
      const share = base.reduce((sum, each, i) => sum + each * rest[i], 0);
      base.forEach((each, i) => (rest[i] -= share * each));
    }
    const length = lengthOf(rest);
    if (length > 1e-6 * before) found.push(rest.map((each) => each / length));
  }
  return found;
}

function lengthOf(row: Float64Array): number {
  return Math.sqrt(row.reduce((sum, each) => sum + each * each, 0));
}

function rootMeanSquare(values: Float32Array): number {
  return Math.sqrt(values.reduce((sum, each) => sum + each * each, 0) / values.length);
}
