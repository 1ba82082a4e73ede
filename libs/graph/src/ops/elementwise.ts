import { onnxTypeOf, type DType } from '../dtype';
import { float } from '../attributes';
import type { Value } from '../graph';
import { broadcastShape, pair, scalar, single, type Operand } from './build';

function binary(opType: string, a: Operand, b: Operand, dtype?: DType): Value {
  const [left, right] = pair(opType, a, b);
  return single(opType, [left, right], dtype ?? left.dtype, broadcastShape(opType, [left, right]));
}

function unary(opType: string, x: Value): Value {
  return single(opType, [x], x.dtype, x.shape);
}

// Arithmetic. Shapes broadcast as in numpy; a number takes the type of the other operand.
export const add = (a: Operand, b: Operand): Value => binary('Add', a, b);
export const sub = (a: Operand, b: Operand): Value => binary('Sub', a, b);
export const mul = (a: Operand, b: Operand): Value => binary('Mul', a, b);
export const div = (a: Operand, b: Operand): Value => binary('Div', a, b);
export const pow = (a: Operand, b: Operand): Value => binary('Pow', a, b);
/** Elementwise minimum; on a tie the gradient goes to the first. */
export const min = (a: Operand, b: Operand): Value => binary('Min', a, b);
/** Elementwise maximum; on a tie the gradient goes to the first. */
export const max = (a: Operand, b: Operand): Value => binary('Max', a, b);
/** Integer remainder with the sign of the divisor. */
export const mod = (a: Operand, b: Operand): Value => binary('Mod', a, b);

// Comparison and logic: results are bool and carry no gradient.
export const equal = (a: Operand, b: Operand): Value => binary('Equal', a, b, 'bool');
export const greater = (a: Operand, b: Operand): Value => binary('Greater', a, b, 'bool');
export const greaterOrEqual = (a: Operand, b: Operand): Value => binary('GreaterOrEqual', a, b, 'bool');
export const less = (a: Operand, b: Operand): Value => binary('Less', a, b, 'bool');
export const lessOrEqual = (a: Operand, b: Operand): Value => binary('LessOrEqual', a, b, 'bool');
export const and = (a: Value, b: Value): Value => binary('And', a, b);
export const or = (a: Value, b: Value): Value => binary('Or', a, b);
export const not = (x: Value): Value => unary('Not', x);

// Functions of one value.
export const neg = (x: Value): Value => unary('Neg', x);
export const abs = (x: Value): Value => unary('Abs', x);
export const sign = (x: Value): Value => unary('Sign', x);
export const exp = (x: Value): Value => unary('Exp', x);
export const log = (x: Value): Value => unary('Log', x);
export const sqrt = (x: Value): Value => unary('Sqrt', x);
export const reciprocal = (x: Value): Value => unary('Reciprocal', x);
export const rsqrt = (x: Value): Value => reciprocal(sqrt(x));
export const sin = (x: Value): Value => unary('Sin', x);
export const cos = (x: Value): Value => unary('Cos', x);
export const erf = (x: Value): Value => unary('Erf', x);
export const tanh = (x: Value): Value => unary('Tanh', x);
export const sigmoid = (x: Value): Value => unary('Sigmoid', x);
/** log(1 + eˣ) */
export const softplus = (x: Value): Value => unary('Softplus', x);
export const relu = (x: Value): Value => unary('Relu', x);
export const floor = (x: Value): Value => unary('Floor', x);
export const square = (x: Value): Value => mul(x, x);

/** x · sigmoid(x), also called swish. */
export function silu(x: Value): Value {
  return single('QuickGelu', [x], x.dtype, x.shape, { alpha: float(1) }, 'com.microsoft');
}

/** x · sigmoid(1.702 x). */
export function quickGelu(x: Value): Value {
  return single('QuickGelu', [x], x.dtype, x.shape, { alpha: float(1.702) }, 'com.microsoft');
}

/** Gaussian error linear unit; `tanh` is the approximation known as "gelu_pytorch_tanh" and "gelu_new". */
export function gelu(x: Value, approximate: 'none' | 'tanh' = 'none'): Value {
  return single('Gelu', [x], x.dtype, x.shape, { approximate });
}

/** Clamps values to [low, high]; the gradient is 0 outside. */
export function clip(x: Value, low: number, high: number): Value {
  const bounds = [scalar(x.graph, low, x.dtype), scalar(x.graph, high, x.dtype)];
  return single('Clip', [x, ...bounds], x.dtype, x.shape);
}

/** `whenTrue` where `condition` (bool) is true, else `whenFalse`. All three broadcast. */
export function where(condition: Value, whenTrue: Operand, whenFalse: Operand): Value {
  const [a, b] = pair('Where', whenTrue, whenFalse);
  return single('Where', [condition, a, b], a.dtype, broadcastShape('Where', [condition, a, b]));
}

/** Converts to another type; adds no node if the value already has it. */
export function cast(x: Value, dtype: DType): Value {
  if (x.dtype === dtype) return x;
  return single('Cast', [x], dtype, x.shape, { to: onnxTypeOf(dtype) });
}

/** The same value, without gradient flow. */
export function stopGradient(x: Value): Value {
  const detached = single('Identity', [x], x.dtype, x.shape);
  detached.detached = true;
  return detached;
}
