import type {
  Action,
  Direction,
  DragAction,
  HoldButtonAction,
  Modifier,
  Point,
  ScrollAction,
} from '../action';
import { MAX_SCROLL_AMOUNT } from '../schema';
import type { Size } from '../sizes';
import { held } from './params';

/** Pixels per notch of a mouse wheel. */
export const NOTCH = 100;

/** @returns notches, from one up to the limit of an action */
export function notchesOf(pixels: number): number {
  return Math.min(MAX_SCROLL_AMOUNT, Math.max(1, Math.round(Math.abs(pixels) / NOTCH)));
}

export function scroll(
  direction: Direction,
  amount: number,
  at?: { x?: number; y?: number },
  modifiers?: Modifier[],
): ScrollAction {
  const place = at?.x === undefined || at.y === undefined ? {} : { x: at.x, y: at.y };
  return { action: 'scroll', direction, amount, ...place, ...held(modifiers) };
}

export function drag(from: Point, to: Point, modifiers?: Modifier[]): DragAction {
  return { action: 'drag', from, to, ...held(modifiers) };
}

/** An action at a place, or where the pointer is. */
export function button(
  action: HoldButtonAction['action'],
  { x, y }: { x?: number | undefined; y?: number | undefined },
): HoldButtonAction {
  return x === undefined || y === undefined ? { action } : { action, x, y };
}

export function stroke(action: 'drag' | 'swipe', from: Point, to: Point): Action {
  return action === 'drag' ? drag(from, to) : { action, from, to };
}

/** Position of a scroll action that states none. */
export function placeOf(
  action: { x?: number; y?: number },
  { width, height }: Size,
): { x: number; y: number } {
  return { x: action.x ?? Math.floor(width / 2), y: action.y ?? Math.floor(height / 2) };
}

/** Merges a pointer move and a drag from there to one action. */
export function mergeDrags(actions: Action[]): Action[] {
  const merged: Action[] = [];
  for (const action of actions) {
    const last = merged.at(-1);
    if (action.action === 'drag' && isHere(action) && last?.action === 'move') {
      merged[merged.length - 1] = { action: 'drag', from: [last.x, last.y], to: action.to };
    } else merged.push(action);
  }
  return merged;
}

/** The start of a drag that begins at the pointer. */
export const HERE = [-1, -1] as const;

export function isHere(action: Action): boolean {
  return action.action === 'drag' && action.from[0] === HERE[0];
}
