import type { Action, Direction, Point, ScrollAction } from '../action';
import { MAX_SCROLL_AMOUNT } from '../schema';
import type { Size } from '../sizes';

/** Pixels that a notch of a mouse wheel scrolls. */
export const NOTCH = 100;

/** @returns notches, at least one and at most as many as an action may have */
export function notchesOf(pixels: number): number {
  return Math.min(MAX_SCROLL_AMOUNT, Math.max(1, Math.round(Math.abs(pixels) / NOTCH)));
}

export function scroll(direction: Direction, amount: number, at?: { x?: number; y?: number }): ScrollAction {
  const place = at?.x === undefined || at.y === undefined ? {} : { x: at.x, y: at.y };
  return { action: 'scroll', direction, amount, ...place };
}

export function stroke(action: 'drag' | 'swipe', from: Point, to: Point): Action {
  return action === 'drag' ? { action, from, to } : { action, from, to };
}

/** Where an action of the vocabulary scrolls that says no place. */
export function placeOf(
  action: { x?: number; y?: number },
  { width, height }: Size,
): { x: number; y: number } {
  return { x: action.x ?? Math.floor(width / 2), y: action.y ?? Math.floor(height / 2) };
}

/** A move of the pointer and a drag from there are one action. */
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

/** The start of a drag that begins where the pointer is. */
export const HERE = [-1, -1] as const;

export function isHere(action: Action): boolean {
  return action.action === 'drag' && action.from[0] === HERE[0];
}
