import { ops, type Graph, type Value } from '@ui-rl/graph';

/**
 * Entries of [size, size] below the diagonal that connect the two halves of each block of `block` rows and columns.
 */
function joining(graph: Graph, size: number, block: number): Value {
  const key = `joining:${size}:${block}`;
  const known = graph.memo.get(key);
  if (known !== undefined) return known;
  const data = Float32Array.from({ length: size * size }, (_, at) => {
    const [row, column] = [Math.floor(at / size), at % size];
    const isSameBlock = Math.floor(row / block) === Math.floor(column / block);
    return Number(isSameBlock && row % block >= block / 2 && column % block < block / 2);
  });
  const mask = graph.constant('float32', [size, size], data);
  graph.memo.set(key, mask);
  return mask;
}

/**
 * The inverse without derivatives: of blocks of 2 rows, 4 rows, …, each computed from the previous one and the
 * entries that connect its halves.
 */
function byBlocks(lower: Value, size: number): Value {
  const { graph } = lower;
  const one = graph.constant(
    'float32',
    [size, size],
    Float32Array.from({ length: size * size }, (_, at) => Number(at % (size + 1) === 0)),
  );
  let inverse = ops.sub(one, ops.mul(lower, joining(graph, size, 2)));
  for (let block = 4; block <= size; block *= 2) {
    const joined = ops.mul(lower, joining(graph, size, block));
    inverse = ops.sub(inverse, ops.matmul(ops.matmul(inverse, joined), inverse));
  }
  return inverse;
}

/**
 * (I + L)⁻¹ for strictly lower triangular L [.., size, size], `size` a power of two: the product of log₂(size)
 * matrices, by [[A, 0], [B, D]]⁻¹ = [[A⁻¹, 0], [-D⁻¹·B·A⁻¹, D⁻¹]] for each block. Unlike the equal product Π(I +
 * (-L)^(2^i)), its intermediate values do not exceed those of the blocks' inverses. Its derivative is that of an
 * inverse, -XᵀGXᵀ, and does not depend on how X was computed.
 */
export function unitLowerInverse(lower: Value, size: number): Value {
  return lower.graph.scope('inverse', () => {
    const fixed = ops.stopGradient(lower);
    const inverse = ops.stopGradient(byBlocks(fixed, size));
    // A Newton step from the solution: it adds zero, but provides the derivative.
    const nothing = ops.sub(lower, fixed);
    return ops.sub(inverse, ops.matmul(ops.matmul(inverse, nothing), inverse));
  });
}
