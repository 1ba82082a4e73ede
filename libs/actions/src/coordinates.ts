import type { ScreenSizes } from './sizes';

/**
 * What the numbers of a place mean:
 * - `screenshot`: pixels of the screenshot
 * - `model_image`: pixels of the image as it was resized for the model
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

/** Corrects what binary fractions lose: 0.29 × 100 is less than 29. */
const ROUNDING = 1e-6;

/**
 * One axis of the screen: numbers as a model writes them ↔ pixels of the screenshot.
 *
 * A pixel that can be written is read as itself; where the numbers are coarser than pixels, one is written as the nearest that can.
 */
export class Axis {
  /** The largest number that is a place on the screen. */
  readonly max: number;
  /** Decimals of the numbers that are written. */
  private readonly decimals: number;

  private constructor(
    /** Of the screenshot. */
    readonly pixels: number,
    /** Numbers from edge to edge. */
    private readonly span: number,
    /** Whether a number is a pixel (of some image), and not a line between pixels. */
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

  /** The pixel of the screenshot at a number from 0 to `max`: the one in which that place, or the centre of that pixel, lies. */
  read(written: number): number {
    const place = this.isPixel ? Math.floor(written) + 0.5 : written;
    const pixel = Math.floor((place * this.pixels) / this.span + ROUNDING);
    return Math.min(pixel, this.pixels - 1);
  }

  /**
   * The number for a pixel of the screenshot: as near its centre as can be.
   * @throws RangeError where there is no such pixel
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
    // Halfway between two numbers the upper one may belong to the next pixel.
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

  /** Whole numbers from 0 to `max`, or decimals. */
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
