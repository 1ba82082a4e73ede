import type { Dim } from '../dims';
import { GraphError } from '../errors';
import { shapeText } from '../dims';
import type { Value } from '../graph';
import { axisOf, ints, single } from './build';

function sortedAxes(opName: string, x: Value, axes: readonly number[]): number[] {
  return axes.map((axis) => axisOf(x, axis, opName)).toSorted((a, b) => a - b);
}

function reducedShape(x: Value, axes: readonly number[], keepdims: boolean): Dim[] {
  return x.shape.flatMap((dim, i) => (axes.includes(i) ? (keepdims ? [1] : []) : [dim]));
}

function reduce(opType: string, x: Value, axes: readonly number[], keepdims: boolean): Value {
  const over = sortedAxes(opType, x, axes);
  if (over.length === 0) return x;
  const attributes = { keepdims: Number(keepdims) };
  return single(opType, [x, ints(x.graph, over)], x.dtype, reducedShape(x, over, keepdims), attributes);
}

function allAxes(x: Value): number[] {
  return x.shape.map((_, i) => i);
}

/** Sum over axes (default: all). */
export function reduceSum(x: Value, axes: readonly number[] = allAxes(x), keepdims = false): Value {
  return reduce('ReduceSum', x, axes, keepdims);
}

/** Mean over axes (default: all). */
export function reduceMean(x: Value, axes: readonly number[] = allAxes(x), keepdims = false): Value {
  return reduce('ReduceMean', x, axes, keepdims);
}

/** Maximum over axes (default: all); the gradient is shared equally among equal maxima. */
export function reduceMax(x: Value, axes: readonly number[] = allAxes(x), keepdims = false): Value {
  return reduce('ReduceMax', x, axes, keepdims);
}

/** Minimum over axes (default: all); the gradient is shared equally among equal minima. */
export function reduceMin(x: Value, axes: readonly number[] = allAxes(x), keepdims = false): Value {
  return reduce('ReduceMin', x, axes, keepdims);
}

/** Index of the largest element of an axis (the first on a tie), int64. */
export function argMax(x: Value, axis: number, keepdims = false): Value {
  const normalized = axisOf(x, axis, 'argMax');
  const shape = reducedShape(x, [normalized], keepdims);
  return single('ArgMax', [x], 'int64', shape, { axis: normalized, keepdims: Number(keepdims) });
}

/** The `k` largest elements of an axis in descending order, with their indices (int64). */
export function topK(x: Value, k: number, axis = -1): { values: Value; indices: Value } {
  const normalized = axisOf(x, axis, 'topK');
  const extent = x.shape[normalized];
  if (typeof extent === 'number' && k > extent) {
    throw new GraphError(
      'build',
      `topK: axis ${normalized} of ${shapeText(x.shape)} has fewer than ${k} elements`,
    );
  }
  const shape = x.shape.with(normalized, k);
  const outputs = [
    { dtype: x.dtype, shape },
    { dtype: 'int64' as const, shape },
  ];
  const [values, indices] = x.graph.node('TopK', [x, ints(x.graph, [k])], { axis: normalized }, outputs);
  return { values, indices };
}

/** Cumulative sum along an axis. */
export function cumSum(x: Value, axis: number): Value {
  const normalized = axisOf(x, axis, 'cumSum');
  return single('CumSum', [x, ints(x.graph, [normalized])], x.dtype, x.shape);
}
