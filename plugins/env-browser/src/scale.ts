import type { Action, Point } from '@ui-rl/plugin-kit';

/** Converts an action's points from screenshot pixels to CSS pixels; one CSS pixel is `scale` screenshot pixels. */
export function inCssPixels(action: Action, scale: number): Action {
  if (scale === 1) return action;
  const scaled: Record<string, unknown> = { ...action };
  for (const key of ['x', 'y', 'distance']) {
    const value = scaled[key];
    if (typeof value === 'number') scaled[key] = value / scale;
  }
  for (const key of ['from', 'to']) {
    const point = scaled[key] as Point | undefined;
    if (point !== undefined) scaled[key] = [point[0] / scale, point[1] / scale];
  }
  return scaled as unknown as Action;
}
