import { Tensor } from './onnxruntime';
import { arrayOf, zeroData, type DType, type TypedArray } from './dtype';
import { GraphError } from './errors';

export { Tensor };

/** Element types of session inputs and outputs; the Node binding does not support bfloat16. */
export type FeedDType = Exclude<DType, 'bfloat16' | 'uint4'>;

/**
 * A tensor to feed. `data` is used without a copy if it is the typed array of `dtype`; plain numbers are converted.
 * `shape` defaults to one axis.
 */
export function tensor(
  dtype: FeedDType,
  data: TypedArray | readonly number[],
  shape: readonly number[] = [data.length],
): Tensor {
  const count = shape.reduce((a, b) => a * b, 1);
  if (data.length !== count) {
    throw new GraphError(
      'session',
      `a tensor of shape [${shape.join(', ')}] needs ${count} elements, found ${data.length}`,
    );
  }
  const array = ArrayBuffer.isView(data) ? data : arrayOf(dtype, data);
  return new Tensor(dtype, array as never, shape);
}

/** A tensor of zeros: a buffer into which `Session.run` writes a result. */
export function zeros(dtype: FeedDType, shape: readonly number[]): Tensor {
  return tensor(
    dtype,
    zeroData(
      dtype,
      shape.reduce((a, b) => a * b, 1),
    ),
    shape,
  );
}
