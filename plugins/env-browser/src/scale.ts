import { movePoints, type Action } from '@ui-rl/plugin-kit';

/** Converts an action's points from screenshot pixels to CSS pixels; one CSS pixel is `scale` screenshot pixels. */
export function inCssPixels(action: Action, scale: number): Action {
  if (scale === 1) return action;
  const scaled = movePoints(action, ([x, y]) => [x / scale, y / scale]);
  return 'distance' in scaled && scaled.distance !== undefined
    ? { ...scaled, distance: scaled.distance / scale }
    : scaled;
}
