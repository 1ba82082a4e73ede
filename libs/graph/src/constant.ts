import { shapeText } from './dims';
import { sizeBytesOf, type DType, type TypedArray } from './dtype';
import { GraphError } from './errors';

/** Data in a file: `offset` and `length` in bytes. */
export interface ExternalData {
  readonly path: string;
  readonly offset: number;
  readonly length: number;
}

/** The data of a constant, in memory or in a file that ONNX Runtime maps. */
export type ConstantData =
  | {
      readonly dtype: DType;
      readonly shape: readonly number[];
      readonly data: TypedArray;
      /** a literal of the computation rather than a weight */
      readonly literal?: true;
    }
  | { readonly dtype: DType; readonly shape: readonly number[]; readonly external: ExternalData };

/** Throws `GraphError` if the number of bytes does not match type and shape. */
export function checkConstant(name: string, tensor: ConstantData): void {
  const count = tensor.shape.reduce((a, b) => a * b, 1);
  const expected = count * sizeBytesOf(tensor.dtype);
  const found = 'external' in tensor ? tensor.external.length : tensor.data.byteLength;
  if (found !== expected) {
    throw new GraphError(
      'build',
      `constant "${name}" of type ${tensor.dtype} and shape ${shapeText(tensor.shape)} needs ${expected} bytes, found ${found}`,
    );
  }
}
