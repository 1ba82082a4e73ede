import { setTimeout as sleep } from 'node:timers/promises';
import type { Point } from '@ui-rl/plugin-kit';
import type { BrowserTab } from './browser-tab';
import type { Popups } from './popups/popups';

type Button = 'left' | 'middle' | 'right';

const BUTTON_BITS: Record<Button, number> = { left: 1, right: 2, middle: 4 };
const PATH_STEPS = 5;

/** Clicks once or several times. The commands are sent together; the browser executes them in order. */
export async function click(
  { cdp, keys: { modifiers } }: BrowserTab,
  [x, y]: Point,
  button: Button,
  count: number,
): Promise<void> {
  const moved = { type: 'mouseMoved', x, y, modifiers } as const;
  const sent: Promise<unknown>[] = [cdp.send('Input.dispatchMouseEvent', moved)];
  for (let clickCount = 1; clickCount <= count; clickCount++) {
    const event = { x, y, button, clickCount, modifiers };
    const buttons = BUTTON_BITS[button];
    sent.push(cdp.send('Input.dispatchMouseEvent', { type: 'mousePressed', ...event, buttons }));
    sent.push(cdp.send('Input.dispatchMouseEvent', { type: 'mouseReleased', ...event }));
  }
  await Promise.all(sent);
}

export async function move({ cdp, keys: { modifiers } }: BrowserTab, [x, y]: Point): Promise<void> {
  await cdp.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y, modifiers });
}

export async function hold({ cdp }: BrowserTab, [x, y]: Point, milliseconds: number): Promise<void> {
  const event = { x, y, button: 'left', clickCount: 1 } as const;
  await cdp.send('Input.dispatchMouseEvent', { type: 'mousePressed', ...event, buttons: 1 });
  await sleep(milliseconds);
  await cdp.send('Input.dispatchMouseEvent', { type: 'mouseReleased', ...event });
}

/** Uses Playwright, which supports HTML drag and drop. If the press opens a list, the list gets the release. */
export async function drag({ page }: BrowserTab, popups: Popups, path: readonly Point[]): Promise<void> {
  await page.mouse.move(...path[0]);
  await page.mouse.down();
  if (await popups.openedByPress()) {
    await page.mouse.up();
    return popups.release(path[path.length - 1]);
  }
  for (const point of pointsAlong(path).slice(1)) await page.mouse.move(...point);
  await page.mouse.up();
}

/** One event per notch, each acknowledged before the next, so that none are merged. */
export async function wheel(
  { cdp, keys: { modifiers } }: BrowserTab,
  [x, y]: Point,
  [deltaX, deltaY]: Point,
  notches: number,
): Promise<void> {
  for (let i = 0; i < notches; i++) {
    await cdp.send('Input.dispatchMouseEvent', { type: 'mouseWheel', x, y, deltaX, deltaY, modifiers });
  }
}

export async function tap(tab: BrowserTab, point: Point, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await touch(tab, [point], 0);
}

/** Touches the first point, moves along the path, and lifts at the last point after `holdMs`. */
export async function touch(
  { cdp, keys: { modifiers } }: BrowserTab,
  path: readonly Point[],
  holdMs: number,
): Promise<void> {
  for (const [index, [x, y]] of path.entries()) {
    const type = index === 0 ? 'touchStart' : 'touchMove';
    await cdp.send('Input.dispatchTouchEvent', { type, touchPoints: [{ x, y }], modifiers });
  }
  if (holdMs > 0) await sleep(holdMs);
  await cdp.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [], modifiers });
}

/** All points of a path, and points between them if it has few. */
export function pointsAlong(path: readonly Point[]): Point[] {
  const steps = Math.ceil(PATH_STEPS / (path.length - 1));
  return path.flatMap((to, index) => {
    const [fromX, fromY] = path[index - 1] ?? to;
    return Array.from({ length: index === 0 ? 1 : steps }, (_, step): Point => {
      const part = (step + 1) / steps;
      return part === 1 || index === 0
        ? to
        : [fromX + (to[0] - fromX) * part, fromY + (to[1] - fromY) * part];
    });
  });
}
