import { broadcast, productOf, shapeText, type Dim } from '../dims';
import { GraphError } from '../errors';
import { float } from '../attributes';
import type { Value } from '../graph';
import { add } from './elementwise';
import { ints, single } from './build';
import { reshape, transpose } from './shape';

/** Options of `matmul`: last two axes transposed, result multiplied by `alpha`. */
export interface MatmulOptions {
  readonly transA?: boolean;
  readonly transB?: boolean;
  readonly alpha?: number;
}

/**
 * Matrix product over the last two axes, [.., M, K] · [.., K, N] → [.., M, N]; leading axes broadcast. Transposed
 * operands and a factor cost nothing extra.
 */
export function matmul(a: Value, b: Value, options: MatmulOptions = {}): Value {
  const { transA = false, transB = false, alpha = 1 } = options;
  const shape = matmulShape(a, b, transA, transB);
  if (!transA && !transB && alpha === 1) return single('MatMul', [a, b], a.dtype, shape);
  const attributes = { transA: Number(transA), transB: Number(transB), alpha: float(alpha) };
  return single('FusedMatMul', [a, b], a.dtype, shape, attributes, 'com.microsoft');
}

function matmulShape(a: Value, b: Value, transA: boolean, transB: boolean): Dim[] {
  const fail = (why: string): GraphError =>
    new GraphError(
      'build',
      `matmul: "${a.name}" ${shapeText(a.shape)}${transA ? ' transposed' : ''} and "${b.name}" ${shapeText(b.shape)}` +
        `${transB ? ' transposed' : ''}: ${why}`,
    );
  if (a.rank < 2 || b.rank < 2) throw fail('both need at least two axes');
  if (a.dtype !== b.dtype) throw fail(`types differ: ${a.dtype}, ${b.dtype}`);
  const [m, ka] = matrixAxes(a, transA);
  const [kb, n] = matrixAxes(b, transB);
  if (ka !== kb) throw fail(`inner dimensions ${ka} and ${kb} differ`);
  const leading = broadcast(a.shape.slice(0, -2), b.shape.slice(0, -2));
  if (leading === undefined) throw fail('leading dimensions do not broadcast');
  return [...leading, m, n];
}

function matrixAxes(x: Value, transposed: boolean): [Dim, Dim] {
  const [rows, columns] = x.shape.slice(-2);
  return transposed ? [columns, rows] : [rows, columns];
}

/** alpha · op(a) · op(b) + c for matrices (rank 2), where c broadcasts to the result. */
export function gemm(a: Value, b: Value, c: Value | null, options: MatmulOptions = {}): Value {
  const { transA = false, transB = false, alpha = 1 } = options;
  if (a.rank !== 2 || b.rank !== 2) {
    throw new GraphError(
      'build',
      `gemm takes matrices, found ${shapeText(a.shape)} and ${shapeText(b.shape)}`,
    );
  }
  const shape = matmulShape(a, b, transA, transB);
  const attributes = { transA: Number(transA), transB: Number(transB), alpha: float(alpha) };
  return single('Gemm', c === null ? [a, b] : [a, b, c], a.dtype, shape, attributes);
}

/** All axes but the last as one: [.., K] → [rows, K]. */
export function flattenRows(x: Value): Value {
  return reshape(x, [productOf(x.shape.slice(0, -1)), x.shape[x.rank - 1]]);
}

/**
 * A linear layer: x [.., in] · weightᵀ + bias, with the weight in PyTorch's layout, [out, in]; bias [out]. Uses one
 * Gemm over flattened rows, which reads that layout directly.
 */
export function linear(x: Value, weight: Value, bias?: Value): Value {
  if (weight.rank !== 2 || x.shape[x.rank - 1] !== weight.shape[1]) {
    throw new GraphError(
      'build',
      `linear: input "${x.name}" ${shapeText(x.shape)} does not fit weight "${weight.name}" ${shapeText(weight.shape)} ([out, in])`,
    );
  }
  const product = gemm(flattenRows(x), weight, null, { transB: true });
  // Gemm broadcasts a bias over the result with a single thread before it multiplies.
  const shifted = bias === undefined ? product : add(product, bias);
  return reshape(shifted, [...x.shape.slice(0, -1), weight.shape[0]]);
}

/**
 * {@link linear} as (weight · xᵀ)ᵀ. Up to twice as fast on CPUs for less than about 64 rows: before it multiplies, ONNX
 * Runtime copies the second operand into another order, here the rows instead of the weight.
 */
export function linearOfFewRows(x: Value, weight: Value): Value {
  const columns = transpose(flattenRows(x), [1, 0]);
  const sameShape = ints(x.graph, [Number(weight.shape[1]), -1]);
  // Without a node in between, ONNX Runtime merges the transposition into the product: half the speed for one row.
  const apart = reshape(columns, sameShape, columns.shape);
  const product = transpose(matmul(weight, apart), [1, 0]);
  return reshape(product, [...x.shape.slice(0, -1), weight.shape[0]]);
}

/** A linear layer whose weight is stored [in, out] (as GPT-2's Conv1D does). */
export function linearInOut(x: Value, weight: Value, bias?: Value): Value {
  const product = matmul(x, weight);
  return bias === undefined ? product : add(product, bias);
}
