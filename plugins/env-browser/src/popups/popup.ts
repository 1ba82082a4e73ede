import type { Point } from '@ui-rl/plugin-kit';

/** CSS pixels. */
export interface Size {
  width: number;
  height: number;
}

/** CSS pixels; of the viewport, or of a popup where it is a part of one. */
export interface Box extends Size {
  x: number;
  y: number;
}

/** One stroke of a picture, in CSS pixels from the popup's upper left corner. */
export type PaintOp =
  | { op: 'fill'; box: Box; color: string }
  | { op: 'frame'; box: Box; color: string }
  | { op: 'text'; text: string; at: Point; font: string; color: string; align: TextAlign; width?: number }
  | { op: 'ramp'; box: Box; colors: string[]; isVertical: boolean }
  | { op: 'disc'; at: Point; radius: number; color: string; border?: string }
  | { op: 'line'; points: Point[]; color: string }
  | { op: 'clip'; box: Box | null };

export type TextAlign = 'left' | 'center' | 'right';

/** A part of a popup that a click can hit. */
export interface Area {
  box: Box;
  /** As the text of a screen calls it. */
  role: 'option' | 'button';
  name: string;
  state?: 'selected' | 'disabled';
  press(at: Point): Effect;
}

/** What is set in the control: an option of a select list by its index, or a value. A value that is not final may change again. */
export type Choice = { index: number } | { value: string; isFinal: boolean };

/** What an input does to a popup's control, and whether the popup closes. */
export interface Effect {
  choice?: Choice;
  closes?: boolean;
}

export const NOTHING: Effect = {};

/**
 * The state of an open popup, and what it does with inputs. Points and boxes are in CSS pixels from its upper left corner; keys have the names of
 * the action `key`.
 */
export interface Popup {
  readonly size: Size;
  /** As the text of a screen calls it. */
  readonly name: string;
  paint(): PaintOp[];
  /** What can be clicked now, those in front last. */
  areas(): Area[];
  move(at: Point): void;
  /** Null where it is no more than a click at its end. */
  drag?(from: Point, to: Point): Effect | null;
  /** Whether there was something to scroll. */
  scroll(at: Point, deltaX: number, deltaY: number): boolean;
  /** Several keys at once are joined by `+`. Null where a key is the page's. */
  key(name: string): Effect | null;
  /** Null where text is the page's. */
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
