/** Block size of quantized linear layers: one scale per block of a row. */
export const QUANTIZATION_BLOCK = 32;

export type Quantization = 'int4' | 'int8';

/** Codes and scales of a matrix. */
export interface QuantizedMatrix {
  /** int4: two codes per byte, the first in the low bits, zero point 8; int8: signed, zero point 0 */
  codes: Uint8Array;
  /** one per block */
  scales: Float32Array;
}

/**
 * Quantizes rows whose length is a multiple of the block. int4 represents the number with the largest magnitude of a
 * block exactly (code 0, because -8 has no counterpart), int8 within half a step.
 */
export function quantize(numbers: Float32Array, kind: Quantization): QuantizedMatrix {
  const blocks = numbers.length / QUANTIZATION_BLOCK;
  const scales = new Float32Array(blocks);
  const codes = new Uint8Array(kind === 'int4' ? numbers.length / 2 : numbers.length);
  for (let block = 0; block < blocks; block += 1) {
    const begin = block * QUANTIZATION_BLOCK;
    scales[block] = kind === 'int4' ? int4Block(numbers, begin, codes) : int8Block(numbers, begin, codes);
  }
  return { codes, scales };
}

/** The number of a block with the largest magnitude. */
function extreme(numbers: Float32Array, begin: number): number {
  let found = 0;
  for (let i = begin; i < begin + QUANTIZATION_BLOCK; i += 1) {
    if (Math.abs(numbers[i]) > Math.abs(found)) found = numbers[i];
  }
  return found;
}

function int4Block(numbers: Float32Array, begin: number, codes: Uint8Array): number {
  const scale = Math.fround(extreme(numbers, begin) / -8);
  const inverse = scale === 0 ? 0 : 1 / scale;
  const code = (i: number): number => Math.min(15, Math.max(0, Math.round(numbers[i] * inverse) + 8));
  for (let i = begin; i < begin + QUANTIZATION_BLOCK; i += 2) codes[i >> 1] = code(i) | (code(i + 1) << 4);
  return scale;
}

function int8Block(numbers: Float32Array, begin: number, codes: Uint8Array): number {
  const scale = Math.fround(Math.abs(extreme(numbers, begin)) / 127);
  const inverse = scale === 0 ? 0 : 1 / scale;
  for (let i = begin; i < begin + QUANTIZATION_BLOCK; i += 1) {
    codes[i] = Math.min(127, Math.max(-127, Math.round(numbers[i] * inverse)));
  }
  return scale;
}
