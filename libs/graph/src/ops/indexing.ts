import { sameShape, shapeText, type Dim } from '../dims';
import { arrayOf, type DType } from '../dtype';
import { GraphError } from '../errors';
import type { Value } from '../graph';
import { axisOf, scalar, single } from './build';
import { dimValue, expand, full, range, unsqueeze } from './shape';

/** Slices of `x` along `axis` at integer `indices` of any shape, which replaces the axis. */
export function gather(x: Value, indices: Value, axis = 0): Value {
  const normalized = axisOf(x, axis, 'gather');
  const shape = [...x.shape.slice(0, normalized), ...indices.shape, ...x.shape.slice(normalized + 1)];
  return single('Gather', [x, indices], x.dtype, shape, { axis: normalized });
}

/** One element per index along `axis`: result[i][j] = x[i][indices[i][j]] for axis 1 (numpy's take_along_axis). */
export function takeAlongAxis(x: Value, indices: Value, axis: number): Value {
  const normalized = axisOf(x, axis, 'takeAlongAxis');
  const fits =
    indices.rank === x.rank && x.shape.every((dim, i) => i === normalized || dim === indices.shape[i]);
  if (!fits) {
    throw new GraphError(
      'build',
      `takeAlongAxis: indices ${shapeText(indices.shape)} must equal ${shapeText(x.shape)} but for axis ${normalized}`,
    );
  }
  return single('GatherElements', [x, indices], x.dtype, indices.shape, { axis: normalized });
}

/**
 * A copy of `x` in which the rows at `indices` [N] are replaced by, or (`add`) increased by, `updates` [N, ...].
 * Indices may repeat only with `add`.
 */
export function scatterRows(
  x: Value,
  indices: Value,
  updates: Value,
  mode: 'replace' | 'add' = 'replace',
): Value {
  const [count] = indices.shape;
  const expected: Dim[] = [count, ...x.shape.slice(1)];
  const fits =
    indices.rank === 1 && updates.rank === x.rank && updates.shape.every((dim, i) => dim === expected[i]);
  if (!fits) {
    throw new GraphError(
      'build',
      `scatterRows: indices ${shapeText(indices.shape)} and updates ${shapeText(updates.shape)} do not fit ${shapeText(x.shape)}`,
    );
  }
  if (mode === 'add') {
    const rowIndices = unsqueeze(
      indices,
      x.shape.slice(1).map((_, i) => i + 1),
    );
    return scatterElements(x, expand(rowIndices, updates.shape), updates, 0, 'add');
  }
  return single('ScatterND', [x, unsqueeze(indices, [1]), updates], x.dtype, x.shape, { reduction: 'none' });
}

/**
 * A copy of `x` where x[indices[i][j]][j] (for axis 0) is replaced by, or increased by, updates[i][j]. The sum is
 * correct for repeated indices: ScatterND is ten times as fast, but its threads lose concurrent updates on the CPU
 * (ONNX Runtime 1.30).
 */
export function scatterElements(
  x: Value,
  indices: Value,
  updates: Value,
  axis: number,
  mode: 'replace' | 'add' = 'replace',
): Value {
  const attributes = { axis: axisOf(x, axis, 'scatterElements'), reduction: mode === 'add' ? 'add' : 'none' };
  if (!sameShape(indices.shape, updates.shape)) {
    throw new GraphError(
      'build',
      `scatterElements: indices ${shapeText(indices.shape)} and updates ${shapeText(updates.shape)} differ`,
    );
  }
  return single('ScatterElements', [x, indices, updates], x.dtype, x.shape, attributes);
}

/** The indices that sort a vector in ascending order, int64 [N]; equal elements keep their order. */
export function argSort(x: Value): Value {
  if (x.rank !== 1) throw new GraphError('build', `argSort takes a vector, found ${shapeText(x.shape)}`);
  const outputs = [
    { dtype: x.dtype, shape: x.shape },
    { dtype: 'int64' as const, shape: x.shape },
  ];
  return x.graph.node('TopK', [x, dimValue(x.graph, x.shape[0])], { axis: 0, largest: 0 }, outputs)[1];
}

/** The position of each element of 0 … N - 1 in a permutation (int64 [N]). */
export function inversePermutation(order: Value): Value {
  return scatterElements(order, order, range(order.graph, order.shape[0]), 0);
}

/** The number of occurrences of each of 0 … `limit` - 1 in a vector of such integers: int64 [limit]. */
export function countEach(x: Value, limit: number): Value {
  const ones = full(x.graph, x.shape, 1, 'int64');
  return scatterElements(full(x.graph, [limit], 0, 'int64'), x, ones, 0, 'add');
}

/** `depth` zeros with a one at each index, as a new last axis. */
export function oneHot(indices: Value, depth: number, dtype: DType = 'float32'): Value {
  const { graph } = indices;
  const choices = graph.constant(dtype, [2], arrayOf(dtype, [0, 1]));
  const inputs = [indices, scalar(graph, depth, 'int64'), choices];
  return single('OneHot', inputs, dtype, [...indices.shape, depth], { axis: -1 });
}

/** Keeps the lower (default) or upper triangle of the last two axes from diagonal `k`, with zeros elsewhere. */
export function triangle(x: Value, part: 'lower' | 'upper' = 'lower', k = 0): Value {
  return single('Trilu', [x, scalar(x.graph, k, 'int64')], x.dtype, x.shape, {
    upper: Number(part === 'upper'),
  });
}
