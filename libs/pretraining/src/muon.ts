import { ops, type Value } from '@ui-rl/graph';

/** Coefficients and iterations of the quintic (Jordan 2024, kellerjordan.github.io/posts/muon). */
const [A, B, C] = [3.4445, -4.775, 2.0315];
const ITERATIONS = 5;
const MOMENTUM = 0.95;
/**
 * Root mean square of an update, relative to the learning rate: similar to AdamW's first steps. Liu et al. 2025
 * (arXiv:2502.16982, section 2.2) use 0.2, which is slower here.
 */
const SCALE = 1;

export interface MuonStep {
  weight: Value;
  momentum: Value;
}

/** A step of Muon with Nesterov momentum for a matrix, independent of the gradient's scale. */
export function muonStep(
  { weight, momentum }: MuonStep,
  gradient: Value,
  { learningRate, weightDecay }: { learningRate: Value; weightDecay: number },
): MuonStep {
  const fresh = ops.mul(gradient, 1 - MOMENTUM);
  const next = ops.add(ops.mul(momentum, MOMENTUM), fresh);
  const direction = orthogonalized(ops.add(ops.mul(next, MOMENTUM), fresh));
  const rate = ops.mul(learningRate, SCALE * Math.sqrt(Math.max(...weight.shape.map(Number))));
  const keep = ops.sub(1, ops.mul(learningRate, weightDecay));
  return { weight: ops.sub(ops.mul(weight, keep), ops.mul(direction, rate)), momentum: next };
}

/** Maps all singular values of a matrix to about 1, by Newton-Schulz iterations. */
export function orthogonalized(matrix: Value): Value {
  const [rows, columns] = matrix.shape.map(Number);
  const isTall = rows > columns;
  const squares = ops.reduceSum(ops.mul(matrix, matrix), [0, 1], true);
  const normed = ops.div(matrix, ops.add(ops.sqrt(squares), 1e-7));
  let x = isTall ? ops.transpose(normed, [1, 0]) : normed;
  for (let i = 0; i < ITERATIONS; i++) {
    const gram = ops.gemm(x, x, null, { transB: true });
    const polynomial = ops.add(ops.mul(gram, B), ops.mul(ops.matmul(gram, gram), C));
    x = ops.add(ops.mul(x, A), ops.matmul(polynomial, x));
  }
  return isTall ? ops.transpose(x, [1, 0]) : x;
}
