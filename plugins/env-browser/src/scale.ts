import { movePoints, type Action } from '@ui-rl/plugin-kit';

/** Converts an action's points from screenshot pixels to CSS pixels; one CSS pixel is `scale` screenshot pixels. */
export function inCssPixels<A extends Action>(action: A, scale: number): A {
  if (scale === 1) return action;
  const scaled = movePoints(action, ([x, y]) => [x / scale, y / scale]) as A;
  return 'distance' in scaled && scaled.distance !== undefined
    ? { ...scaled, distance: scaled.distance / scale }
    : scaled;
}
