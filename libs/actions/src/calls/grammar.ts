import {
  BUTTONS,
  DIRECTIONS,
  KEY_NAMES,
  MODIFIERS,
  POINT_ACTIONS,
  WINDOW_CHANGES,
  type Action,
  type ActionName,
  type Modified,
} from '../action';
import type { Axes, Axis } from '../coordinates';
import { integers } from '../json-grammar';
import type { ScreenSizes } from '../sizes';
import { canWrite, type Pen } from './pen';

/** The values that a grammar offers for unbounded quantities. */
const AMOUNTS = [1, 2, 3, 5, 10];
const SECONDS = [1, 2, 5, 10];
/** Numbers of windows. */
const WINDOWS = [1, 2, 3, 4, 5];
const DISTANCES = [100, 200, 300];
const LETTERS = ['a', 'c', 'v', 'x', 'z'];
/** Keys that are held for a while or until later. */
const HOLDABLE = [...MODIFIERS, 'space', 'up', 'down', 'left', 'right'];
/** Keys held during an action. */
const HELD: Modified[] = [
  {},
  ...MODIFIERS.map((key) => ({ modifiers: [key] })),
  { modifiers: ['ctrl', 'shift'] },
];

/** Placeholders for values that the model fills in; no action format writes these numbers or letters itself. */
const X = 770_000_001;
const Y = 770_000_002;
const ACROSS = 770_000_003;
const DOWN = 770_000_004;
const TEXT = '\uE000';

/** Characters inside `"…"` in JSON, and inside `'…'` in Python. */
const INSIDE = {
  '"': String.raw`(?:[^"\\\x00-\x1f]|\\["\\nrt])*`,
  "'": String.raw`(?:[^'\\\x00-\x1f]|\\['\\nrt])*`,
} as const;

/**
 * The answers of one action in an action format, with any point and any text. Some tokenizers begin with a space,
 * which is allowed.
 */
export function grammarOf(
  axes: Axes,
  write: (actions: readonly Action[], pen: Pen) => string,
  { screenshot }: ScreenSizes,
  actions: readonly ActionName[],
): string {
  const pen: Pen = {
    x: () => X,
    y: () => Y,
    point: () => [X, Y],
    across: () => ACROSS,
    down: () => DOWN,
    screen: screenshot,
  };
  const shapes = shapesOf().filter(
    (action) => actions.includes(action.action) && canWrite(() => write([action], pen)),
  );
  const patterns = new Set(shapes.map((action) => patternOf(write([action], pen), axes)));
  return ` ?(?:${[...patterns].join('|')})`;
}

function patternOf(written: string, { x, y }: Axes): string {
  return written
    .replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
    .replaceAll(String(X), numbers(x))
    .replaceAll(String(Y), numbers(y))
    .replaceAll(String(ACROSS), integers(1, Math.max(1, x.max)))
    .replaceAll(String(DOWN), integers(1, Math.max(1, y.max)))
    .replaceAll(/(["'])\uE000/g, (_whole, delimiter: '"' | "'") => delimiter + INSIDE[delimiter]);
}

function numbers(axis: Axis): string {
  return axis.isWhole ? integers(0, axis.max) : String.raw`(?:0(?:\.[0-9]{1,4})?|1)`;
}

/** An action of each shape; points and texts represent all others. */
function shapesOf(): Action[] {
  const at = { x: 0, y: 0 };
  const ways = { from: [0, 0], to: [0, 0] } as const;
  return [
    ...POINT_ACTIONS.flatMap((action) => HELD.map((held): Action => ({ action, ...at, ...held }))),
    { action: 'long_press', ...at },
    ...SECONDS.map((seconds): Action => ({ action: 'long_press', ...at, seconds })),
    { action: 'type', text: TEXT },
    // Some action formats press Enter after each text.
    { action: 'type', text: `${TEXT}\n` },
    ...KEY_NAMES.map((key): Action => ({ action: 'key', keys: [key] })),
    ...LETTERS.map((key): Action => ({ action: 'key', keys: ['ctrl', key] })),
    ...HOLDABLE.flatMap((key): Action[] => [
      { action: 'key_down', key },
      { action: 'key_up', key },
      ...SECONDS.map((seconds): Action => ({ action: 'key', keys: [key], seconds })),
    ]),
    ...(['mouse_down', 'mouse_up'] as const).flatMap((action): Action[] => [{ action }, { action, ...at }]),
    ...[1, 2, 3, 6].map((count): Action => ({ action: 'drag', ...ways, via: Array(count).fill([0, 0]) })),
    ...DIRECTIONS.flatMap((direction) => [
      ...AMOUNTS.flatMap((amount): Action[] => [
        { action: 'scroll', direction, amount },
        { action: 'scroll', direction, amount, ...at },
      ]),
      ...HELD.slice(1).map((held): Action => ({ action: 'scroll', direction, amount: 3, ...at, ...held })),
      ...[undefined, ...DISTANCES].flatMap((distance): Action[] => [
        { action: 'swipe', direction, ...(distance === undefined ? {} : { distance }) },
        { action: 'swipe', direction, ...(distance === undefined ? {} : { distance }), ...at },
      ]),
    ]),
    ...HELD.map((held): Action => ({ action: 'drag', ...ways, ...held })),
    { action: 'swipe', ...ways },
    ...BUTTONS.map((button): Action => ({ action: 'button', button })),
    ...WINDOW_CHANGES.map((change): Action => ({ action: 'window', change })),
    ...WINDOWS.map((number): Action => ({ action: 'window', number })),
    { action: 'zoom', ...ways },
    ...SECONDS.map((seconds): Action => ({ action: 'wait', seconds })),
    ...[true, false].flatMap((success): Action[] => [
      { action: 'finish', success },
      { action: 'finish', success, message: TEXT },
    ]),
  ];
}
