import type { Point, ZoomAction } from './action';
import type { Size } from './sizes';

/** The largest enlargement. */
const MAX_ZOOM = 10;

/** A part of the screen, in the units of the screen. */
export interface Region extends Size {
  x: number;
  y: number;
}

/**
 * The part of the screen that a zoom shows: the smallest one with the proportions of the screen that contains the given
 * corners, at least a tenth of the screen wide.
 */
export function zoomRegion({ from, to }: Pick<ZoomAction, 'from' | 'to'>, screen: Size): Region {
  const asked = [0, 1].map((axis) => Math.abs(to[axis] - from[axis]));
  const share = Math.max(asked[0] / screen.width, asked[1] / screen.height, 1 / MAX_ZOOM);
  const [width, height] = [screen.width, screen.height].map((side) => side * Math.min(1, share));
  const middle: Point = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
  const start = (centre: number, length: number, side: number) =>
    Math.min(Math.max(0, centre - length / 2), side - length);
  return {
    x: start(middle[0], width, screen.width),
    y: start(middle[1], height, screen.height),
    width,
    height,
  };
}
