import type { Lowerings } from '../clone';
import { FloatAttribute, type Attributes } from '../attributes';
import type { Value } from '../graph';
import { abs, cast, div, max, mul } from '../ops/elementwise';
import { gemm } from '../ops/matrix';
import { reduceMax } from '../ops/reduce';

/** Divisor of zero rows. */
const SMALLEST = 1e-30;

/**
 * Computes products with float16 weights in that type instead of with a float32 copy of the weight. Each row of the
 * other operand is divided by its largest number, and the result multiplied by it, so that neither large activations
 * nor small gradients leave the range of float16.
 */
export const halfProducts: Lowerings = {
  Gemm: ({ attributes }, [x, weight, addend]) => {
    const stored = storedHalf(weight);
    if (stored === undefined || attributes['transA'] === 1 || (addend ?? null) !== null) return undefined;
    return [halfProduct(x!, stored, attributes)];
  },
};

/** The stored value from which a float32 weight was converted. */
function storedHalf(weight: Value | null): Value | undefined {
  const producer = weight?.producer;
  const source = producer?.opType === 'Cast' ? producer.inputs[0] : undefined;
  return source?.dtype === 'float16' ? source : undefined;
}

function halfProduct(x: Value, weight: Value, attributes: Attributes): Value {
  const largest = max(reduceMax(abs(x), [1], true), SMALLEST);
  const rows = cast(div(x, largest), 'float16');
  const product = cast(gemm(rows, weight, null, { transB: attributes['transB'] === 1 }), 'float32');
  const scaled = mul(product, largest);
  const alpha = attributes['alpha'];
  return alpha instanceof FloatAttribute && alpha.value !== 1 ? mul(scaled, alpha.value) : scaled;
}
