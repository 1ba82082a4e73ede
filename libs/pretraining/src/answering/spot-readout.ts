import type { FloatTensor } from '@ui-rl/models';
import { normals, Random } from '@ui-rl/random';
import { principalComponents } from '../whiten';
import { rowsOf } from './copying-attention';
import { COMPONENTS, type DecoderShape, dimensionOf, headInputs, headOutputs } from './decoder-matrices';

/** Layers, from the last one, whose first heads read what the head behind the layers before them has found. */
export const READOUT_LAYERS = 2;
/** Directions of the coordinates of an axis that heads read. */
const AXIS_COMPONENTS = 24;
const READOUT = { value: 0.6, output: 0.3 };
/** Length of the difference between the two rows of the spot head: that after 1,300 steps of training. */
const SPOT_SIZE = 0.7;
/**
 * Weight of the shared component in keys, relative to the spot: normalization of keys then keeps how clear a spot is.
 */
const SHARED = 0.6;
/** Scale of queries and keys, which are normalized: how far training turns them in a step. */
const LENGTH = 2;
/** The dimensions with the lowest rotary frequencies. */
const SLOWEST = 4;

/** A direction of the residual stream, of unit length: image tokens at the target of a goal go that way. */
export function spotDirection(width: number): Float64Array {
  const values = Float64Array.from(normals(width, 1, 11));
  const length = Math.hypot(...values);
  return values.map((value) => value / length);
}

/** Initial weights [2, width] of the head that finds the target. */
export function spotWeights(width: number): Float32Array {
  const direction = spotDirection(width);
  return Float32Array.from(
    [-0.5, 0.5].flatMap((side) => Array.from(direction, (each) => side * SPOT_SIZE * each)),
  );
}

/**
 * Makes two groups of heads in the last layers attend to the image tokens at the target, and pass on their column and
 * their row: a click is then learned as soon as the layers before them find the target.
 *
 * @param axes embeddings [N, width] of the x and of the y coordinates
 * @param shared a direction in which all tokens have a positive component
 */
export function setSpotReadout(
  tensors: ReadonlyMap<string, FloatTensor>,
  { axes, shared }: { axes: readonly Float32Array[]; shared: Float64Array },
  layers: number,
  shape: DecoderShape,
): void {
  const { width, headDim } = shape;
  const group = shape.heads / shape.keyHeads;
  const spot = spotDirection(width);
  const slowest = Array.from({ length: SLOWEST }, (_, index) => COMPONENTS / 2 - 1 - index);
  axes.forEach((coordinates, keyHead) => {
    const { vectors } = principalComponents(coordinates, width, AXIS_COMPONENTS, new Random(3));
    const components = rowsOf(vectors, width);
    const queryHeads = Array.from({ length: group }, (_, each) => keyHead * group + each);
    for (let layer = layers - READOUT_LAYERS; layer < layers; layer++) {
      const [query, key, value] = (['q', 'k', 'v'] as const).map((of) =>
        headInputs(tensors, layer, of, shape),
      );
      const output = headOutputs(tensors, layer, shape);
      key.clear(keyHead);
      for (const head of queryHeads) query.clear(head);
      for (const index of slowest) {
        const [first, second] = [dimensionOf(index, headDim), dimensionOf(index + COMPONENTS / 2, headDim)];
        key.set(keyHead, first, spot, LENGTH * SPOT_SIZE);
        key.set(keyHead, second, shared, LENGTH * SHARED);
        for (const head of queryHeads) query.set(head, first, shared, LENGTH);
      }
      components.forEach((component, dimension) => {
        value.set(keyHead, dimension, component, READOUT.value);
        for (const head of queryHeads) output.set(head, dimension, component, READOUT.output);
      });
    }
  });
}
