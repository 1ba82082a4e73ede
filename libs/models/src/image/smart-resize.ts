import { ModelError } from '../errors';

/** Constraints on the size of a resized image. */
export interface ResizeLimits {
  /** Both edges become multiples of this: patch size × merge size. */
  factor: number;
  minPixels: number;
  maxPixels: number;
}

export interface Size {
  width: number;
  height: number;
}

const MAX_ASPECT_RATIO = 200;
const MIN_EDGE = 2;

/**
 * Size at which the model sees an image: edges rounded to multiples of the factor (half to even, as in Python),
 * scaled into the pixel limits with the aspect ratio kept (`smart_resize` of transformers).
 *
 * @throws ModelError `bad-input` for an edge below 2 pixels or an aspect ratio above 200.
 */
export function smartResize({ width, height }: Size, { factor, minPixels, maxPixels }: ResizeLimits): Size {
  checkSize({ width, height });
  const rounded = {
    height: roundHalfEven(height / factor) * factor,
    width: roundHalfEven(width / factor) * factor,
  };
  if (rounded.height * rounded.width > maxPixels) {
    const beta = Math.sqrt((height * width) / maxPixels);
    const shrink = (edge: number) => Math.max(factor, Math.floor(edge / beta / factor) * factor);
    return { height: shrink(height), width: shrink(width) };
  }
  if (rounded.height * rounded.width < minPixels) {
    const beta = Math.sqrt(minPixels / (height * width));
    const enlarge = (edge: number) => Math.ceil((edge * beta) / factor) * factor;
    return { height: enlarge(height), width: enlarge(width) };
  }
  return rounded;
}

/** @throws ModelError `bad-input` for an edge below 2 pixels or an aspect ratio above 200. */
export function checkSize({ width, height }: Size): void {
  const ratio = Math.max(width, height) / Math.min(width, height);
  if (Math.min(width, height) < MIN_EDGE) {
    throw new ModelError(
      'bad-input',
      `the image is ${width}×${height} pixels; expected at least ${MIN_EDGE}×${MIN_EDGE}: is it a screenshot?`,
    );
  }
  if (ratio > MAX_ASPECT_RATIO) {
    throw new ModelError(
      'bad-input',
      `the image is ${width}×${height} pixels, an aspect ratio of ${ratio.toFixed(1)}; expected at most ${MAX_ASPECT_RATIO}: crop it`,
    );
  }
}

function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}
