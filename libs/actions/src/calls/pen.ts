import type { Point } from '../action';
import type { Axes } from '../coordinates';
import type { ScreenSizes, Size } from '../sizes';

/** Writes coordinates in the action format's space. */
export interface Pen {
  x(pixel: number): number;
  y(pixel: number): number;
  point: (point: Point) => [number, number];
  /** Pixels of the screenshot → distance along an axis. */
  across(pixels: number): number;
  down(pixels: number): number;
  screen: Size;
}

export function penOf({ x, y }: Axes, { screenshot }: ScreenSizes): Pen {
  return {
    x: (pixel) => x.write(pixel),
    y: (pixel) => y.write(pixel),
    point: (point) => [x.write(point[0]), y.write(point[1])],
    across: (pixels) => x.writeLength(pixels),
    down: (pixels) => y.writeLength(pixels),
    screen: screenshot,
  };
}

/** Whether the attempt can be expressed. */
export function canWrite(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
