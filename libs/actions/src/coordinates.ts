import type { ScreenSizes } from './sizes';

/**
 * The meaning of coordinates:
 * - `screenshot`: pixels of the screenshot
 * - `model_image`: pixels of the image as resized for the model
 * - `relative_1000`, `relative_999`, `relative_1`: 0 is the left (top) edge and 1000, 999 or 1 the right (bottom) one
 */
export const COORDINATE_SPACES = [
  'screenshot',
  'model_image',
  'relative_1000',
  'relative_999',
  'relative_1',
] as const;
export type CoordinateSpace = (typeof COORDINATE_SPACES)[number];

/** Compensates for binary fractions: 0.29 × 100 is less than 29. */
const ROUNDING = 1e-6;

/**
 * One axis of the screen: converts between numbers of a model and pixels of the screenshot.
 *
 * A representable pixel is read back exactly; if the numbers are coarser than pixels, a pixel is written as the
 * nearest representable one.
 */
export class Axis {
  /** The largest valid number on the screen. */
  readonly max: number;
  /** Decimals of written numbers. */
  private readonly decimals: number;

  private constructor(
    /** Pixels of the screenshot. */
    readonly pixels: number,
    /** Range of numbers from edge to edge. */
    private readonly span: number,
    /** Whether a number is a pixel (of some image) rather than a line between pixels. */
    private readonly isPixel: boolean,
  ) {
    this.max = isPixel ? span - 1 : span;
    this.decimals = span === 1 && !isPixel ? String(pixels).length : 0;
  }

  static of(space: CoordinateSpace, { screenshot, modelImage }: ScreenSizes, side: 'width' | 'height'): Axis {
    const pixels = screenshot[side];
    if (space === 'screenshot') return new Axis(pixels, pixels, true);
    if (space === 'model_image') return new Axis(pixels, modelImage[side], true);
    return new Axis(pixels, Number(space.slice('relative_'.length)), false);
  }

  /**
   * The pixel of the screenshot at a number from 0 to `max`: the one that contains that position, or the centre of
   * that pixel.
   */
  read(written: number): number {
    const place = this.isPixel ? Math.floor(written) + 0.5 : written;
    const pixel = Math.floor((place * this.pixels) / this.span + ROUNDING);
    return Math.min(pixel, this.pixels - 1);
  }

  /**
   * The number for a pixel of the screenshot, as close to its centre as possible.
   * @throws RangeError if there is no such pixel
   */
  write(pixel: number): number {
    if (!Number.isInteger(pixel) || pixel < 0 || pixel >= this.pixels) {
      throw new RangeError(
        `${pixel} is not a pixel of a screenshot of ${this.pixels}, expected 0 to ${this.pixels - 1}`,
      );
    }
    const centre = ((pixel + 0.5) * this.span) / this.pixels;
    if (this.isPixel) return Math.floor(centre);
    const unit = 10 ** this.decimals;
    const nearest = Math.round(centre * unit) / unit;
    const below = Math.max(0, (Math.round(centre * unit) - 1) / unit);
    // Halfway between two numbers, the upper one may belong to the next pixel.
    return this.read(nearest) !== pixel && this.read(below) === pixel ? below : nearest;
  }

  /** A distance in pixels of the screenshot, at least 1. */
  readLength(written: number): number {
    return Math.max(1, Math.round((written * this.pixels) / this.span));
  }

  writeLength(pixels: number): number {
    const unit = 10 ** this.decimals;
    return Math.round(((pixels * this.span) / this.pixels) * unit) / unit;
  }

  /** Whether numbers are integers from 0 to `max` rather than decimals. */
  get isWhole(): boolean {
    return this.decimals === 0;
  }
}

/** Both axes of a screen. */
export interface Axes {
  x: Axis;
  y: Axis;
}

export function axesOf(space: CoordinateSpace, sizes: ScreenSizes): Axes {
  return { x: Axis.of(space, sizes, 'width'), y: Axis.of(space, sizes, 'height') };
}

/** For a model's prompt. */
export function describeCoordinates(space: CoordinateSpace, { x, y }: Axes): string {
  switch (space) {
    case 'screenshot':
      return `Coordinates are pixels of the screenshot, x from 0 to ${x.max} and y from 0 to ${y.max}, from its top left corner.`;
    case 'model_image':
      return `Coordinates are pixels of the image, x from 0 to ${x.max} and y from 0 to ${y.max}, from its top left corner.`;
    default:
      return `Coordinates are relative: x from 0 (left edge) to ${x.max} (right edge), y from 0 (top) to ${y.max} (bottom).`;
  }
}
