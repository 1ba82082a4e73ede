import { shapeText } from './dims';
import { sizeBytesOf, type DType, type TypedArray } from './dtype';
import { GraphError } from './errors';

/** Data that lies in a file: `offset` and `length` in bytes. */
export interface ExternalData {
  readonly path: string;
  readonly offset: number;
  readonly length: number;
}

/** The data of a constant, held in memory or in a file that ONNX Runtime maps. */
export type ConstantData =
  | {
      readonly dtype: DType;
      readonly shape: readonly number[];
      readonly data: TypedArray;
      /** part of what the graph computes, no weight */
      readonly literal?: true;
    }
  | { readonly dtype: DType; readonly shape: readonly number[]; readonly external: ExternalData };

/** Throws `GraphError` where there are more or fewer bytes than type and shape need. */
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
