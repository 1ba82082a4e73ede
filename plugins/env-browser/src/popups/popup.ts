import type { Point } from '@ui-rl/plugin-kit';

/** In CSS pixels. */
export interface Size {
  width: number;
  height: number;
}

/** In CSS pixels, relative to the viewport, or to the popup for its parts. */
export interface Box extends Size {
  x: number;
  y: number;
}

/** A paint operation, in CSS pixels from the popup's upper left corner. */
export type PaintOp =
  | { op: 'fill'; box: Box; color: string }
  | { op: 'frame'; box: Box; color: string }
  | { op: 'text'; text: string; at: Point; font: string; color: string; align: TextAlign; width?: number }
  | { op: 'ramp'; box: Box; colors: string[]; isVertical: boolean }
  | { op: 'disc'; at: Point; radius: number; color: string; border?: string }
  | { op: 'line'; points: Point[]; color: string }
  | { op: 'clip'; box: Box | null };

export type TextAlign = 'left' | 'center' | 'right';

/** A clickable part of a popup. */
export interface Area {
  box: Box;
  /** Role in the screen text. */
  role: 'option' | 'button';
  name: string;
  state?: 'selected' | 'disabled';
  press(at: Point): Effect;
}

/**
 * The value to set in the control: the index of an option in a select list, or a value. A value that is not final may
 * change again.
 */
export type Choice = { index: number } | { value: string; isFinal: boolean };

/** The effect of an input on a popup's control, and whether the popup closes. */
export interface Effect {
  choice?: Choice;
  closes?: boolean;
}

export const NOTHING: Effect = {};

/**
 * The state of an open popup and its reactions to input. Points and boxes are in CSS pixels from its upper left
 * corner; key names are those of the action `key`.
 */
export interface Popup {
  readonly size: Size;
  /** Name in the screen text. */
  readonly name: string;
  paint(): PaintOp[];
  /** The clickable parts, front-most last. */
  areas(): Area[];
  move(at: Point): void;
  /** Null if it is equivalent to a click at its end. */
  drag?(from: Point, to: Point): Effect | null;
  /** Returns whether anything scrolled. */
  scroll(at: Point, deltaX: number, deltaY: number): boolean;
  /** Keys pressed together are joined by `+`. Null if the key belongs to the page. */
  key(name: string): Effect | null;
  /** Null if the text belongs to the page. */
  type(character: string): Effect | null;
  /** The effect of a press elsewhere, which closes it. */
  leave(): Effect;
}

export function isWithin([x, y]: Point, box: Box): boolean {
  return x >= box.x && y >= box.y && x < box.x + box.width && y < box.y + box.height;
}

export function areaAt(popup: Popup, at: Point): Area | undefined {
  return popup.areas().findLast(({ box }) => isWithin(at, box));
}
