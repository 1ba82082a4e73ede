const bits = new Uint32Array(1);
const floats = new Float32Array(bits.buffer);

/** bfloat16 bit patterns to float32 (exact). */
export function fromBfloat16(source: Uint16Array): Float32Array {
  const out = new Uint32Array(source.length);
  for (let i = 0; i < source.length; i++) out[i] = source[i] << 16;
  return new Float32Array(out.buffer);
}

/** float32 to bfloat16 bit patterns, rounded to nearest, ties to even; NaN stays NaN. */
export function toBfloat16(source: Float32Array): Uint16Array {
  const raw = new Uint32Array(source.buffer, source.byteOffset, source.length);
  const out = new Uint16Array(source.length);
  for (let i = 0; i < source.length; i++) {
    const value = raw[i];
    const isNan = (value & 0x7fffffff) > 0x7f800000;
    out[i] = isNan ? (value >>> 16) | 0x40 : (value + 0x7fff + ((value >>> 16) & 1)) >>> 16;
  }
  return out;
}

function halfToFloat(half: number): number {
  const sign = (half & 0x8000) << 16;
  const exponent = (half >>> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) {
    const magnitude = fraction * 2 ** -24;
    return sign === 0 ? magnitude : -magnitude;
  }
  bits[0] = sign | (exponent === 31 ? 0x7f800000 : (exponent + 112) << 23) | (fraction << 13);
  return floats[0];
}

let halfTable: Float32Array | undefined;

/** IEEE half-precision bit patterns to float32 (exact). */
export function fromFloat16(source: Uint16Array): Float32Array {
  halfTable ??= Float32Array.from({ length: 65536 }, (_, half) => halfToFloat(half));
  const out = new Float32Array(source.length);
  for (let i = 0; i < source.length; i++) out[i] = halfTable[source[i]];
  return out;
}

/** @param raw the bits of `value` */
function floatToHalf(raw: number, value: number): number {
  const sign = (raw >>> 16) & 0x8000;
  const magnitude = raw & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude >= 0x38800000) {
    const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1);
    return sign | ((rounded - 0x38000000) >>> 13);
  }
  const scaled = (value < 0 ? -value : value) * 2 ** 24;
  const floor = scaled | 0;
  const rest = scaled - floor;
  const up = rest > 0.5 || (rest === 0.5 && (floor & 1) === 1);
  return sign | (floor + (up ? 1 : 0));
}

/** float32 to IEEE half-precision bit patterns, rounded to nearest, ties to even; overflow becomes infinity. */
export function toFloat16(source: Float32Array): Uint16Array {
  const raw = new Uint32Array(source.buffer, source.byteOffset, source.length);
  const out = new Uint16Array(source.length);
  for (let i = 0; i < source.length; i++) out[i] = floatToHalf(raw[i], source[i]);
  return out;
}
