import type { Action, Point } from '@ui-rl/plugin-kit';

/** An action with its places, which are pixels of the screenshot, in pixels of the page: `scale` of the former are one of the latter. */
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
