import { setTimeout as sleep } from 'node:timers/promises';
import {
  modifiersOf,
  pathOf,
  type Action,
  type Button,
  type Deadline,
  type Direction,
  type KeyAction,
  type Point,
  type ScrollAction,
  type SwipeAction,
} from '@ui-rl/plugin-kit';
import { isOnKeyboard } from './keys';
import { windowChange } from './window-keys';
import { click, drag, hold, move, pointsAlong, tap, touch, wheel } from './pointer';
import { reachFrame } from './reach-frame';
import { type, typeCharacter } from './typing';
import type { BrowserTab } from './browser-tab';
import { asksForMenu } from './popups/context-menu';
import type { Popups } from './popups/popups';
import type { PageSpec } from './page-spec';

/** CSS pixels per mouse-wheel notch, as in Chromium. */
const NOTCH = 100;
const LONG_PRESS_SECONDS = 0.8;
/** Time kept from the deadline for settling and the screenshot after a wait. */
const RESERVE_MS = 2000;

const TOWARDS: Record<Direction, Point> = { up: [0, -1], down: [0, 1], left: [-1, 0], right: [1, 0] };

/** Executes an action on the page. An invalid action has no effect and is noted as an outcome. */
export async function perform(
  tab: BrowserTab,
  popups: Popups,
  action: Action,
  deadline: Deadline,
): Promise<void> {
  if (!isOnScreen(action, tab)) {
    tab.note('outside_viewport');
    return;
  }
  const change = windowChange(action, tab.windows.count);
  if (change !== null) {
    const problem = await tab.windows.change(change, tab.spec.url);
    if (problem !== null) tab.note(problem);
    return;
  }
  const [from, to] = [beginOf(action, tab), endOf(action, tab)];
  const isTaken = await popups.take({ action, from, to });
  // The popup gets the release, and the page one where the button was pressed.
  if (isTaken && action.action === 'mouse_up') await tab.button.release();
  if (!isTaken) await tab.keys.during(modifiersOf(action), () => act(tab, popups, action, deadline));
  const place = to ?? from;
  if (place !== null) tab.button.moved(place);
}

/** Actions that press the button, which releases it if it is down. */
const PRESSES = new Set<Action['action']>([
  'click',
  'double_click',
  'triple_click',
  'right_click',
  'middle_click',
  'long_press',
  'drag',
  'swipe',
]);

async function act(tab: BrowserTab, popups: Popups, action: Action, deadline: Deadline): Promise<void> {
  const begin = beginOf(action, tab);
  if (PRESSES.has(action.action)) await tab.button.release();
  const isApart = begin !== null && !tab.button.isDown && (await reachFrame(tab, begin));
  // Chromium does not turn touches into clicks in cross-site frames: it looks for the target elsewhere.
  const tool = tab.spec.input === 'touch' && !isApart ? 'touch' : 'mouse';
  switch (action.action) {
    case 'click':
      return press(tab, [action.x, action.y], 1, tool);
    case 'double_click':
      return press(tab, [action.x, action.y], 2, tool);
    case 'triple_click':
      return press(tab, [action.x, action.y], 3, tool);
    case 'right_click':
      return rightClick(tab, [action.x, action.y]);
    case 'middle_click':
      return click(tab, [action.x, action.y], 'middle', 1);
    case 'move':
      return tab.button.isDown ? tab.button.drag([action.x, action.y]) : move(tab, [action.x, action.y]);
    case 'mouse_down':
      return pressButton(tab, begin!);
    case 'mouse_up':
      return releaseButton(tab, begin!);
    case 'key_down':
      return isOnKeyboard(action.key) ? tab.keys.press(action.key) : tab.note('unsupported_action');
    case 'key_up':
      if (!(await tab.keys.release(action.key))) tab.note('nothing_held');
      return;
    case 'long_press':
      return longPress(tab, [action.x, action.y], action.seconds ?? LONG_PRESS_SECONDS, tool, deadline);
    case 'type':
      return type(tab, action.text, deadline, RESERVE_MS);
    case 'key':
      return chord(tab, action, deadline);
    case 'scroll':
      return scroll(tab, action);
    case 'drag':
      return stroke(tab, popups, pathOf(action));
    case 'swipe':
      return stroke(tab, popups, endsOf(action, tab));
    case 'button':
      return deviceButton(tab, action.button);
    // Windows are changed elsewhere, and a region is a matter of the observation.
    case 'window':
    case 'zoom':
      return;
    case 'wait':
      await sleep(allowed(tab, action.seconds, deadline));
      return;
    case 'finish':
      return;
  }
}

/** Whether its events reach the page only with the next frame. */
export function isContinuous(action: Action): boolean {
  return ['scroll', 'move', 'drag', 'swipe', 'mouse_down', 'mouse_up'].includes(action.action);
}

/** Points given by the agent; the computed end of a directional swipe may be outside the screen. */
function pointsOf(action: Action, tab: BrowserTab): Point[] {
  if (action.action === 'swipe' && 'direction' in action) return [startOf(action, tab)];
  if ('from' in action) return 'via' in action ? pathOf(action) : [action.from, action.to];
  return 'x' in action && action.x !== undefined && action.y !== undefined ? [[action.x, action.y]] : [];
}

/** Pointer position at the start of an action; null for actions without one. */
function beginOf(action: Action, tab: BrowserTab): Point | null {
  if (action.action === 'scroll') return scrolledAt(action, tab);
  const isButton = action.action === 'mouse_down' || action.action === 'mouse_up';
  if (isButton && action.x === undefined) return tab.button.place;
  return pointsOf(action, tab)[0] ?? null;
}

/** Pointer position at the end of a stroke; null for other actions. */
function endOf(action: Action, tab: BrowserTab): Point | null {
  if (action.action === 'drag') return action.to;
  return action.action === 'swipe' ? endsOf(action, tab)[1] : null;
}

/** Whether all points of an action are. */
export function isOnScreen(action: Action, tab: BrowserTab): boolean {
  return pointsOf(action, tab).every((point) => isInside(point, tab));
}

function isInside([x, y]: Point, { spec: { viewport } }: BrowserTab): boolean {
  return x >= 0 && y >= 0 && x < viewport.width && y < viewport.height;
}

async function press(tab: BrowserTab, point: Point, count: number, tool: PageSpec['input']): Promise<void> {
  await (tool === 'touch' ? tap(tab, point, count) : click(tab, point, 'left', count));
}

async function rightClick(tab: BrowserTab, point: Point): Promise<void> {
  if (await asksForMenu(tab, () => click(tab, point, 'right', 1))) tab.note('context_menu_not_shown');
}

async function longPress(
  tab: BrowserTab,
  point: Point,
  seconds: number,
  tool: PageSpec['input'],
  deadline: Deadline,
): Promise<void> {
  const milliseconds = allowed(tab, seconds, deadline);
  await (tool === 'touch' ? touch(tab, [point], milliseconds) : hold(tab, point, milliseconds));
}

async function stroke(tab: BrowserTab, popups: Popups, path: readonly Point[]): Promise<void> {
  await (tab.spec.input === 'touch' ? touch(tab, pointsAlong(path), 0) : drag(tab, popups, path));
}

/** A finger is not held between actions: `long_press` and `drag` do without. */
async function pressButton(tab: BrowserTab, at: Point): Promise<void> {
  if (tab.spec.input === 'touch') return tab.note('unsupported_action');
  await tab.button.press(at);
}

async function releaseButton(tab: BrowserTab, at: Point): Promise<void> {
  if (!tab.button.isDown) return tab.note('nothing_held');
  await tab.button.drag(at);
  await tab.button.release();
}

/** Limits a requested duration to the deadline: an overlong wait is not an infrastructure failure. */
function allowed(tab: BrowserTab, seconds: number, { deadlineAt }: Deadline): number {
  const milliseconds = Math.max(0, Math.min(seconds * 1000, deadlineAt - Date.now() - RESERVE_MS));
  if (milliseconds < seconds * 1000) tab.note('wait_cut_short');
  return milliseconds;
}

async function chord(tab: BrowserTab, { keys, seconds }: KeyAction, deadline: Deadline): Promise<void> {
  if (keys.length === 1 && !isOnKeyboard(keys[0]) && seconds === undefined) {
    await typeCharacter(tab, keys[0]);
    return;
  }
  if (!keys.every(isOnKeyboard)) {
    tab.note('unsupported_action');
    return;
  }
  if (seconds === undefined) await tab.keys.during(keys);
  else await tab.keys.hold(keys, allowed(tab, seconds, deadline));
}

async function scroll(tab: BrowserTab, action: ScrollAction): Promise<void> {
  const [deltaX, deltaY] = TOWARDS[action.direction];
  await wheel(tab, scrolledAt(action, tab), [deltaX * NOTCH, deltaY * NOTCH], action.amount);
}

function scrolledAt({ x, y }: ScrollAction, tab: BrowserTab): Point {
  return x === undefined || y === undefined ? middle(tab) : [x, y];
}

function middle({ spec: { viewport } }: BrowserTab): Point {
  return [Math.floor(viewport.width / 2), Math.floor(viewport.height / 2)];
}

function startOf(swipe: Extract<SwipeAction, { direction: Direction }>, tab: BrowserTab): Point {
  return swipe.x === undefined || swipe.y === undefined ? middle(tab) : [swipe.x, swipe.y];
}

/** A directional swipe covers half of the screen unless it gives a distance, and ends at the edge. */
function endsOf(swipe: SwipeAction, tab: BrowserTab): [Point, Point] {
  if ('from' in swipe) return [swipe.from, swipe.to];
  const { width, height } = tab.spec.viewport;
  const [fromX, fromY] = startOf(swipe, tab);
  const [towardsX, towardsY] = TOWARDS[swipe.direction];
  const distance = swipe.distance ?? Math.floor((towardsX === 0 ? height : width) / 2);
  const clamp = (value: number, size: number) => Math.min(Math.max(value, 0), size - 1);
  return [
    [fromX, fromY],
    [clamp(fromX + towardsX * distance, width), clamp(fromY + towardsY * distance, height)],
  ];
}

/**
 * A page with `uirl.button` handles all buttons; on other pages only `back` works, within the history of this
 * episode.
 */
async function deviceButton(tab: BrowserTab, button: Button): Promise<void> {
  if (tab.contract.button) {
    const known = await tab.answers.evaluate<unknown>(`window.uirl?.button?.(${JSON.stringify(button)})`);
    if (known === false) tab.note('unsupported_action');
  } else if (button === 'back') {
    await goBack(tab);
  } else {
    tab.note('unsupported_action');
  }
}

async function goBack(tab: BrowserTab): Promise<void> {
  const { currentIndex } = await tab.cdp.send('Page.getNavigationHistory');
  // The history starts at the first frame.
  if (currentIndex === 0) tab.note('nothing_to_go_back_to');
  else await tab.answers.evaluate('history.back()');
}
