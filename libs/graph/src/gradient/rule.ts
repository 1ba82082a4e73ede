import { productOf, sameShape, type Dim } from '../dims';
import type { Node, Rule, Value } from '../graph';
import { flattenRows, gemm } from '../ops/matrix';
import { reduceSum } from '../ops/reduce';
import { full, reshape } from '../ops/shape';

/** The derivative of each operation, by its type. */
export type Rules = Readonly<Record<string, Rule>>;

/** A gradient of a broadcast operand: summed over the axes along which it was repeated. */
export function unbroadcast(grad: Value, shape: readonly Dim[]): Value {
  if (sameShape(grad.shape, shape)) return grad;
  const leading = grad.rank - shape.length;
  const repeated = grad.shape.flatMap((dim, axis) => {
    if (axis < leading) return [axis];
    return shape[axis - leading] === 1 && dim !== 1 ? [axis] : [];
  });
  const kept = grad.shape.slice(repeated.length);
  const areLeading = repeated.every((axis, i) => axis === i);
  if (areLeading && kept.some((dim) => dim !== 1)) {
    return reshape(
      sumOfRows(reshape(grad, [productOf(grad.shape.slice(0, repeated.length)), productOf(kept)])),
      shape,
    );
  }
  return reshape(reduceSum(grad, repeated, true), shape);
}

/**
 * Sum over all axes but the last, [.., C] → [1, C]: a product with a row of ones, three times as fast as ReduceSum.
 */
export function sumOfRows(x: Value): Value {
  const rows = flattenRows(x);
  if (x.dtype !== 'float32') return reduceSum(rows, [0], true);
  return gemm(rowOfOnes(rows), rows, null);
}

/** [1, R] for x [R, C]; shared by all sums over the same number of rows. */
function rowOfOnes({ graph, shape: [count] }: Value): Value {
  const key = `ones:${count}`;
  const known = graph.memo.get(key);
  if (known !== undefined) return known;
  const ones = full(graph, [1, count], 1);
  graph.memo.set(key, ones);
  return ones;
}

/** The numbers of an integer constant; undefined for a computed value. */
export function constantInts(value: Value): number[] | undefined {
  const { constant } = value;
  if (constant === undefined || !('data' in constant)) return undefined;
  return Array.from(constant.data, Number);
}

/** An integer attribute. */
export function intAttribute(node: Node, name: string, fallback: number): number {
  const value = node.attributes[name];
  return typeof value === 'number' ? value : fallback;
}

/** A value that is built on first use and then shared. */
export function lazy(build: () => Value): () => Value {
  let value: Value | undefined;
  return () => (value ??= build());
}
