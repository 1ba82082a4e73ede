/**
 * Element types of values. `float16` and `bfloat16` data is held as raw bits in a `Uint16Array`; `uint4` data as two
 * elements per byte, the first in the low bits.
 */
export type DType =
  'float32' | 'float16' | 'bfloat16' | 'int64' | 'int32' | 'uint8' | 'int8' | 'uint4' | 'bool';

/** Arrays that hold tensor data. */
export type TypedArray = Float32Array | Uint16Array | BigInt64Array | Int32Array | Uint8Array | Int8Array;

interface DTypeInfo {
  /** `TensorProto.DataType` */
  readonly code: number;
  readonly bytes: number;
  readonly array: new (buffer: ArrayBufferLike, byteOffset: number, length: number) => TypedArray;
}

const infos: Readonly<Record<DType, DTypeInfo>> = {
  float32: { code: 1, bytes: 4, array: Float32Array },
  uint8: { code: 2, bytes: 1, array: Uint8Array },
  int8: { code: 3, bytes: 1, array: Int8Array },
  uint4: { code: 21, bytes: 0.5, array: Uint8Array },
  int32: { code: 6, bytes: 4, array: Int32Array },
  int64: { code: 7, bytes: 8, array: BigInt64Array },
  bool: { code: 9, bytes: 1, array: Uint8Array },
  float16: { code: 10, bytes: 2, array: Uint16Array },
  bfloat16: { code: 16, bytes: 2, array: Uint16Array },
};

/** ONNX's number of a type. */
export function onnxTypeOf(dtype: DType): number {
  return infos[dtype].code;
}

/** Bytes of one element; half a byte for `uint4`. */
export function sizeBytesOf(dtype: DType): number {
  return infos[dtype].bytes;
}

/** Whether values of this type can carry a gradient. */
export function isFloat(dtype: DType): boolean {
  return dtype === 'float32' || dtype === 'float16' || dtype === 'bfloat16';
}

/** An array of `dtype` from plain numbers. Not for 16-bit floats, whose bits the caller must compute. */
export function arrayOf(dtype: DType, numbers: ArrayLike<number>): TypedArray {
  switch (dtype) {
    case 'float32':
      return Float32Array.from(numbers);
    case 'int64':
      return BigInt64Array.from(Array.from(numbers, (n) => BigInt(n)));
    case 'int32':
      return Int32Array.from(numbers);
    case 'int8':
      return Int8Array.from(numbers);
    case 'uint8':
    case 'bool':
      return Uint8Array.from(numbers);
    case 'uint4':
      return Uint8Array.from({ length: Math.ceil(numbers.length / 2) }, (_, i) => {
        return (numbers[2 * i] & 15) | (((numbers[2 * i + 1] ?? 0) & 15) << 4);
      });
    case 'float16':
    case 'bfloat16':
      return Uint16Array.from(numbers, dtype === 'float16' ? float16Bits : bfloat16Bits);
  }
}

/** `count` zeros of `dtype`. */
export function zeroData(dtype: DType, count: number): TypedArray {
  return new infos[dtype].array(new ArrayBuffer(count * infos[dtype].bytes), 0, count);
}

const floatView = new Float32Array(1);
const bitsView = new Uint32Array(floatView.buffer);

/** The bits of the bfloat16 nearest to `x` (ties to even). */
export function bfloat16Bits(x: number): number {
  floatView[0] = x;
  const bits = bitsView[0];
  if (Number.isNaN(x)) return 0x7fc0;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

/** The bits of the IEEE half nearest to `x` (ties to even; beyond 65504 infinity). */
export function float16Bits(x: number): number {
  floatView[0] = x;
  const bits = bitsView[0];
  const sign = (bits >>> 16) & 0x8000;
  if (Number.isNaN(x)) return sign | 0x7e00;
  const magnitude = Math.abs(floatView[0]);
  if (magnitude >= 65520) return sign | 0x7c00;
  if (magnitude < 2 ** -14) return sign | roundToEven(magnitude * 2 ** 24);
  const exponent = ((bits >>> 23) & 0xff) - 127;
  return sign | ((exponent + 14) * 1024 + roundToEven((magnitude / 2 ** exponent) * 1024));
}

function roundToEven(x: number): number {
  const floor = Math.floor(x);
  const rest = x - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
}
