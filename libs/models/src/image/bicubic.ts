import type { Size } from './smart-resize';

/** 8-bit RGB, row-major [height, width, 3]. */
export interface RgbImage extends Size {
  data: Uint8Array;
}

/**
 * Resizes with Pillow's bicubic filter (a = -0.5, widened when shrinking), bit for bit: first along the rows, then along
 * the columns, in 22-bit fixed point, rounded and clamped to 8 bits after each (Pillow, src/libImaging/Resample.c).
 * Models were trained on images resized this way; other libraries differ by several levels.
 */
export function resizeBicubic(image: RgbImage, { width, height }: Size): RgbImage {
  const wide = width === image.width ? image : resizeRows(image, width);
  return height === wide.height ? wide : resizeColumns(wide, height);
}

const PRECISION_BITS = 22;
const HALF = 2 ** (PRECISION_BITS - 1);
const CHANNELS = 3;
const SUPPORT = 2;

/** Which source pixels make one target pixel: `count` from `first` on, with fixed-point weights. */
interface Tap {
  first: number;
  weights: Int32Array;
}

function resizeRows({ data, width, height }: RgbImage, target: number): RgbImage {
  const taps = tapsFor(width, target);
  const out = new Uint8Array(target * height * CHANNELS);
  for (let y = 0; y < height; y++) {
    const row = y * width * CHANNELS;
    for (let x = 0; x < target; x++) {
      const { first, weights } = taps[x];
      weigh(data, row + first * CHANNELS, CHANNELS, weights, out, (y * target + x) * CHANNELS);
    }
  }
  return { data: out, width: target, height };
}

function resizeColumns({ data, width, height }: RgbImage, target: number): RgbImage {
  const taps = tapsFor(height, target);
  const stride = width * CHANNELS;
  const out = new Uint8Array(target * stride);
  for (let y = 0; y < target; y++) {
    const { first, weights } = taps[y];
    for (let x = 0; x < stride; x += CHANNELS) {
      weigh(data, first * stride + x, stride, weights, out, y * stride + x);
    }
  }
  return { data: out, width, height: target };
}

/** Σ weight · pixel for the three channels; the sum stays below 2³¹. */
function weigh(
  data: Uint8Array,
  from: number,
  step: number,
  weights: Int32Array,
  out: Uint8Array,
  to: number,
): void {
  let [red, green, blue] = [HALF, HALF, HALF];
  for (let i = 0, at = from; i < weights.length; i++, at += step) {
    const weight = weights[i];
    red += data[at] * weight;
    green += data[at + 1] * weight;
    blue += data[at + 2] * weight;
  }
  out[to] = clamp(red >> PRECISION_BITS);
  out[to + 1] = clamp(green >> PRECISION_BITS);
  out[to + 2] = clamp(blue >> PRECISION_BITS);
}

function clamp(value: number): number {
  return value < 0 ? 0 : value > 255 ? 255 : value;
}

function tapsFor(source: number, target: number): Tap[] {
  const scale = source / target;
  const filterScale = Math.max(scale, 1);
  const support = SUPPORT * filterScale;
  return Array.from({ length: target }, (_, index) => {
    const center = (index + 0.5) * scale;
    const first = Math.max(Math.trunc(center - support + 0.5), 0);
    const end = Math.min(Math.trunc(center + support + 0.5), source);
    const raw = Array.from({ length: end - first }, (_, i) =>
      cubic((i + first - center + 0.5) * (1 / filterScale)),
    );
    const sum = raw.reduce((total, weight) => total + weight, 0);
    return { first, weights: Int32Array.from(raw, (weight) => toFixed(sum === 0 ? weight : weight / sum)) };
  });
}

function toFixed(weight: number): number {
  return Math.trunc(weight * 2 ** PRECISION_BITS + (weight < 0 ? -0.5 : 0.5));
}

/** Keys' cubic convolution kernel. */
function cubic(distance: number): number {
  const a = -0.5;
  const x = Math.abs(distance);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}
