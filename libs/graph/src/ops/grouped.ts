import { divideDims, shapeText, type Dim } from '../dims';
import { GraphError } from '../errors';
import type { Rule, Value } from '../graph';
import { ints, single } from './build';
import { min } from './elementwise';
import { argSort, gather } from './indexing';
import { loop } from './loop';
import { gemm, type MatmulOptions } from './matrix';
import { reduceSum } from './reduce';
import { reshape, split } from './shape';

/** Rows in consecutive groups, whose sizes are known only at run time. */
export interface RowGroups {
  /** int64 [groups] */
  readonly counts: Value;
  /** the counts as dimensions */
  readonly dims: readonly Dim[];
}

/** Groups with the sizes in `counts` (int64 [groups]); a group may be empty. */
export function rowGroups(counts: Value): RowGroups {
  const [groups] = counts.shape;
  if (counts.rank !== 1 || typeof groups !== 'number') {
    throw new GraphError(
      'build',
      `rowGroups: counts must be a vector of known length, found ${shapeText(counts.shape)}`,
    );
  }
  const symbol = `_${counts.name.replace(/[^\w.]/g, '_')}`;
  return { counts, dims: Array.from({ length: groups }, (_, group) => `${symbol}.${group}`) };
}

/** The rows of each group: [M, ...] → [count, ...] per group. */
function splitGroups(x: Value, { counts, dims }: RowGroups): Value[] {
  const outputs = dims.map((dim) => ({ dtype: x.dtype, shape: x.shape.with(0, dim) }));
  return x.graph.node('Split', [x, counts], { axis: 0 }, outputs);
}

/**
 * Multiplies every group of rows with its own matrix: x [M, in] and one matrix [in, out] per group ([out, in] with
 * `transB`) → [M, out]. An empty group costs almost nothing.
 */
export function groupedMatmul(
  x: Value,
  groups: RowGroups,
  matrices: readonly Value[],
  options: Omit<MatmulOptions, 'transA'> = {},
): Value {
  if (matrices.length !== groups.dims.length) {
    throw new GraphError(
      'build',
      `groupedMatmul: ${matrices.length} matrices for ${groups.dims.length} groups of "${x.name}"`,
    );
  }
  const products = splitGroups(x, groups).map((rows, group) => gemm(rows, matrices[group], null, options));
  const [, width] = products[0].shape;
  return single('Concat', products, x.dtype, [x.shape[0], width], { axis: 0 });
}

/**
 * Applies `build` to the rows of each group, [count, in] → [count, width], and stacks the results. Skips groups
 * without rows, which pays off if a group needs more than one product. Not differentiable.
 * @param build receives rows that belong to the body of a loop, in which it must add its nodes
 */
export function groupedLazily(
  x: Value,
  groups: RowGroups,
  width: number,
  build: (rows: Value, group: number) => Value,
): Value {
  const { graph } = x;
  const once = split(
    min(groups.counts, 1),
    groups.dims.map(() => 1),
    0,
  );
  const results = splitGroups(x, groups).map((rows, group) => {
    const { collected } = loop(graph, { count: once[group], turns: 1 }, (body) => {
      const [own] = body.node('Identity', [rows], {}, [{ dtype: rows.dtype, shape: rows.shape }]);
      return { carried: [], collected: [build(own, group)] };
    });
    return single('Reshape', [collected[0], ints(graph, [-1, width])], x.dtype, [groups.dims[group], width]);
  });
  return single('Concat', results, x.dtype, [x.shape[0], width], { axis: 0 });
}

/**
 * Rows of `x` [N, ...] by `indices` [k·N], where every row is gathered k times. The backward pass then gathers, too,
 * and sums: scattering would take ten times as long.
 */
export function gatherEvenly(x: Value, indices: Value): Value {
  const times = divideDims(indices.shape[0], x.shape[0]);
  if (indices.rank !== 1 || typeof times !== 'number') {
    throw new GraphError(
      'build',
      `gatherEvenly: indices ${shapeText(indices.shape)} are not a multiple of the rows of ${shapeText(x.shape)}`,
    );
  }
  const outputs = [{ dtype: x.dtype, shape: [indices.shape[0], ...x.shape.slice(1)] }];
  return x.graph.node('Gather', [x, indices], { axis: 0 }, outputs, '', { derivative: gatherEvenlyBack })[0];
}

/** Sorting the indices makes the positions of each source row adjacent. */
const gatherEvenlyBack: Rule = (c) => [
  () => {
    const [x, indices] = [c.input(0), c.input(1)];
    const times = divideDims(indices.shape[0], x.shape[0]) as number;
    const order = argSort(indices);
    if (times === 1) return gather(c.grad, order);
    return reduceSum(gather(c.grad, reshape(order, [x.shape[0], times])), [1]);
  },
  null,
];
