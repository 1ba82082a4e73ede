import type { Size } from './smart-resize';

/** 8-bit RGB, row-major [height, width, 3]. */
export interface RgbImage extends Size {
  data: Uint8Array;
}

/** A resize filter. */
export interface Filter {
  /** radius in pixels without downscaling */
  support: number;
  /** weight of a pixel at this distance, which may be negative */
  kernel: (distance: number) => number;
}

/** Filters by their numbers in Pillow and in `resample` of preprocessor_config.json. */
export const filters: Readonly<Record<number, Filter>> = {
  1: { support: 3, kernel: lanczos },
  2: { support: 1, kernel: triangle },
  3: { support: 2, kernel: cubic },
};

export const [LANCZOS, BILINEAR, BICUBIC] = [1, 2, 3];

/**
 * Resizes exactly as Pillow does (filters widened for downscaling): first along the rows, then along the columns, in
 * 22-bit fixed point, rounded and clamped to 8 bits after each (Pillow, src/libImaging/Resample.c). Models were
 * trained on images resized this way; other libraries differ by several levels.
 *
 * @param resample which of {@link filters}.
 */
export function resize(image: RgbImage, { width, height }: Size, resample: number): RgbImage {
  const filter = filters[resample];
  const wide = width === image.width ? image : resizeRows(image, width, filter);
  return height === wide.height ? wide : resizeColumns(wide, height, filter);
}

const PRECISION_BITS = 22;
const HALF = 2 ** (PRECISION_BITS - 1);
const CHANNELS = 3;

/** The source pixels of a target pixel: `count` from `first` on, with fixed-point weights. */
interface Tap {
  first: number;
  weights: Int32Array;
}

function resizeRows({ data, width, height }: RgbImage, target: number, filter: Filter): RgbImage {
  const taps = tapsFor(width, target, filter);
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

function resizeColumns({ data, width, height }: RgbImage, target: number, filter: Filter): RgbImage {
  const taps = tapsFor(height, target, filter);
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

function tapsFor(source: number, target: number, { support: reach, kernel }: Filter): Tap[] {
  const scale = source / target;
  const filterScale = Math.max(scale, 1);
  const support = reach * filterScale;
  return Array.from({ length: target }, (_, index) => {
    const center = (index + 0.5) * scale;
    const first = Math.max(Math.trunc(center - support + 0.5), 0);
    const end = Math.min(Math.trunc(center + support + 0.5), source);
    const raw = Array.from({ length: end - first }, (_, i) =>
      kernel((i + first - center + 0.5) * (1 / filterScale)),
    );
    const sum = raw.reduce((total, weight) => total + weight, 0);
    return { first, weights: Int32Array.from(raw, (weight) => toFixed(sum === 0 ? weight : weight / sum)) };
  });
}

function toFixed(weight: number): number {
  return Math.trunc(weight * 2 ** PRECISION_BITS + (weight < 0 ? -0.5 : 0.5));
}

function triangle(distance: number): number {
  return Math.max(0, 1 - Math.abs(distance));
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(x * Math.PI) / (x * Math.PI);
}

function lanczos(distance: number): number {
  return distance >= -3 && distance < 3 ? sinc(distance) * sinc(distance / 3) : 0;
}

/** Keys' cubic convolution kernel, a = -0.5. */
function cubic(distance: number): number {
  const a = -0.5;
  const x = Math.abs(distance);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}
