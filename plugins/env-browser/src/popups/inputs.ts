import type { Action, Point } from '@ui-rl/plugin-kit';
import { areaAt, isWithin, NOTHING, type Effect, type Popup } from './popup';

/** CSS pixels per wheel notch. */
const NOTCH = 100;
const TOWARDS = { up: [0, -1], down: [0, 1], left: [-1, 0], right: [1, 0] } as const;
const PRESSES: Readonly<Record<string, number>> = {
  click: 1,
  double_click: 2,
  triple_click: 3,
  long_press: 1,
  mouse_up: 1,
};

/** An action in the coordinates of a popup. */
export interface PopupInput {
  action: Action;
  /** Start and end point; null for actions without one. */
  from: Point | null;
  to: Point | null;
  /** Whether it is a touch, which scrolls a list where a mouse would select. */
  isTouch: boolean;
}

/** The effect of an action on an open popup; null if the action does not concern it. */
export function effectOf(popup: Popup, { action, from, to, isTouch }: PopupInput): Effect | null {
  if (action.action === 'key') return keyEffect(popup, action.keys);
  if (action.action === 'key_down') return keyEffect(popup, [action.key]);
  if (action.action === 'type') return typeEffect(popup, action.text);
  if (from === null || !isWithin(from, { x: 0, y: 0, ...popup.size })) return null;
  if (action.action === 'scroll') {
    const [x, y] = TOWARDS[action.direction];
    popup.scroll(from, x * NOTCH * action.amount, y * NOTCH * action.amount);
    return NOTHING;
  }
  if (to !== null) return strokeEffect(popup, from, to, isTouch);
  popup.move(from);
  return repeated(PRESSES[action.action] ?? 0, () => pressEffect(popup, from));
}

/** A press and release at a point. */
export function pressEffect(popup: Popup, at: Point): Effect {
  popup.move(at);
  return areaAt(popup, at)?.press(at) ?? NOTHING;
}

function strokeEffect(popup: Popup, from: Point, to: Point, isTouch: boolean): Effect {
  const dragged = popup.drag?.(from, to) ?? null;
  if (dragged !== null) return dragged;
  if (isTouch && popup.scroll(from, from[0] - to[0], from[1] - to[1])) return NOTHING;
  return isWithin(to, { x: 0, y: 0, ...popup.size }) ? pressEffect(popup, to) : NOTHING;
}

function keyEffect(popup: Popup, keys: readonly string[]): Effect | null {
  const name = keys.join('+');
  return name.length === 1 ? popup.type(name) : popup.key(name);
}

function typeEffect(popup: Popup, text: string): Effect | null {
  const characters = Array.from(text);
  return repeated(characters.length, (index) =>
    characters[index] === '\n' ? popup.key('enter') : popup.type(characters[index]),
  );
}

/** Repeats an input until the popup closes; the last effect counts. Null if the first input belongs to the page. */
function repeated(times: number, once: (index: number) => Effect | null): Effect | null {
  let all: Effect = NOTHING;
  for (let index = 0; index < times && all.closes !== true; index += 1) {
    const effect = once(index);
    if (effect === null) return index === 0 ? null : all;
    all = { ...all, ...effect };
  }
  return all;
}
