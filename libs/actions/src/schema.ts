import {
  BUTTONS,
  DIRECTIONS,
  KEY_NAMES,
  MODIFIERS,
  POINT_ACTIONS,
  WINDOW_CHANGES,
  type Action,
  type ActionName,
  type Modifier,
} from './action';

export const MAX_COORDINATE = 65_535;
export const MAX_TEXT_LENGTH = 10_000;
export const MAX_SECONDS = 60;
export const MAX_SCROLL_AMOUNT = 50;
export const MAX_KEYS = 5;
/** The highest number of a window. */
export const MAX_WINDOW = 99;
/** Points of a drag between its start and its end. */
export const MAX_VIA = 100;

/** The rule for the value of an action's key. */
export type FieldRule =
  | { type: 'integer' | 'number'; min: number; max: number }
  | { type: 'string'; maxLength: number }
  | { type: 'boolean' }
  | { type: 'one-of'; values: readonly string[] }
  | { type: 'point' }
  | { type: 'keys' }
  | { type: 'key' }
  | { type: 'path' }
  | { type: 'modifiers' };

export interface Field {
  rule: FieldRule;
  optional: boolean;
}

/** One form of an action: its keys besides `action`, in canonical order. */
export interface Variant {
  fields: Record<string, Field>;
  /** Keys that only make sense together. */
  together?: readonly string[];
  /** Shown to models. */
  example: Action;
  meaning: string;
}

const field = (rule: FieldRule): Field => ({ rule, optional: false });
const optional = (rule: FieldRule): Field => ({ rule, optional: true });

const COORDINATE: FieldRule = { type: 'integer', min: 0, max: MAX_COORDINATE };
const SECONDS: FieldRule = { type: 'number', min: 0, max: MAX_SECONDS };
const DIRECTION: FieldRule = { type: 'one-of', values: DIRECTIONS };
const POINT: FieldRule = { type: 'point' };
const AT = { x: field(COORDINATE), y: field(COORDINATE) };
const MAYBE_AT = { x: optional(COORDINATE), y: optional(COORDINATE) };
const KEY = { key: field({ type: 'key' }) };
const HELD = { modifiers: optional({ type: 'modifiers' }) };

const POINT_MEANINGS: Record<(typeof POINT_ACTIONS)[number], string> = {
  click: 'press and release at a place',
  double_click: 'two clicks in quick succession',
  triple_click: 'three clicks in quick succession',
  right_click: 'click with the right button',
  middle_click: 'click with the middle button',
  move: 'move the pointer to a place',
};

const pointVariants = Object.fromEntries(
  POINT_ACTIONS.map((action) => [
    action,
    [{ fields: { ...AT, ...HELD }, example: { action, x: 83, y: 41 }, meaning: POINT_MEANINGS[action] }],
  ]),
) as unknown as Record<(typeof POINT_ACTIONS)[number], Variant[]>;

/** The whole vocabulary: action → its forms. */
export const SCHEMA: Record<ActionName, Variant[]> = {
  ...pointVariants,
  long_press: [
    {
      fields: { ...AT, seconds: optional(SECONDS) },
      example: { action: 'long_press', x: 83, y: 41 },
      meaning: 'hold at a place',
    },
  ],
  type: [
    {
      fields: { text: field({ type: 'string', maxLength: MAX_TEXT_LENGTH }) },
      example: { action: 'type', text: 'hello' },
      meaning: 'type text where the focus is; \\n presses Enter, \\t Tab',
    },
  ],
  key: [
    {
      fields: { keys: field({ type: 'keys' }), seconds: optional(SECONDS) },
      example: { action: 'key', keys: ['ctrl', 'a'] },
      meaning: 'press keys together',
    },
  ],
  key_down: [
    {
      fields: KEY,
      example: { action: 'key_down', key: 'shift' },
      meaning: 'press a key that stays down',
    },
  ],
  key_up: [
    {
      fields: KEY,
      example: { action: 'key_up', key: 'shift' },
      meaning: 'release that key',
    },
  ],
  mouse_down: [
    {
      fields: MAYBE_AT,
      together: ['x', 'y'],
      example: { action: 'mouse_down', x: 83, y: 41 },
      meaning: 'press the left button, which stays down, at a place or where the pointer is',
    },
  ],
  mouse_up: [
    {
      fields: MAYBE_AT,
      together: ['x', 'y'],
      example: { action: 'mouse_up', x: 120, y: 80 },
      meaning: 'release the left button, at a place or where the pointer is',
    },
  ],
  scroll: [
    {
      fields: {
        direction: field(DIRECTION),
        amount: field({ type: 'integer', min: 1, max: MAX_SCROLL_AMOUNT }),
        ...MAYBE_AT,
        ...HELD,
      },
      together: ['x', 'y'],
      example: { action: 'scroll', direction: 'down', amount: 3 },
      meaning: 'bring into view what lies in a direction, by notches of a wheel',
    },
  ],
  drag: [
    {
      fields: { from: field(POINT), via: optional({ type: 'path' }), to: field(POINT), ...HELD },
      example: { action: 'drag', from: [20, 80], to: [120, 80] },
      meaning: 'press at one place, release at another',
    },
  ],
  swipe: [
    {
      fields: {
        direction: field(DIRECTION),
        distance: optional({ type: 'integer', min: 1, max: MAX_COORDINATE }),
        ...MAYBE_AT,
      },
      together: ['x', 'y'],
      example: { action: 'swipe', direction: 'up' },
      meaning: 'stroke in a direction',
    },
    {
      fields: { from: field(POINT), to: field(POINT) },
      example: { action: 'swipe', from: [80, 180], to: [80, 60] },
      meaning: 'stroke from one place to another',
    },
  ],
  button: [
    {
      fields: { button: field({ type: 'one-of', values: BUTTONS }) },
      example: { action: 'button', button: 'home' },
      meaning: `press a button of the device: ${BUTTONS.join(', ')}`,
    },
  ],
  window: [
    {
      fields: { change: field({ type: 'one-of', values: WINDOW_CHANGES }) },
      example: { action: 'window', change: 'next' },
      meaning: `change which window is shown, or how many there are: ${WINDOW_CHANGES.join(', ')}`,
    },
    {
      fields: { number: field({ type: 'integer', min: 1, max: MAX_WINDOW }) },
      example: { action: 'window', number: 2 },
      meaning: 'show the window with this number, in the order of opening',
    },
  ],
  zoom: [
    {
      fields: { from: field(POINT), to: field(POINT) },
      example: { action: 'zoom', from: [20, 80], to: [120, 160] },
      meaning: 'see a part of the screen larger once, from its top left to its bottom right corner',
    },
  ],
  wait: [
    {
      fields: { seconds: field(SECONDS) },
      example: { action: 'wait', seconds: 1 },
      meaning: 'let time pass',
    },
  ],
  finish: [
    {
      fields: {
        success: field({ type: 'boolean' }),
        message: optional({ type: 'string', maxLength: MAX_TEXT_LENGTH }),
      },
      example: { action: 'finish', success: true },
      meaning: 'the task is done (or cannot be done)',
    },
  ],
};

export const ACTION_NAMES = Object.keys(SCHEMA) as ActionName[];

export function isActionName(text: string): text is ActionName {
  return Object.hasOwn(SCHEMA, text);
}

const KEY_ALIASES: Record<string, string> = {
  ' ': 'space',
  arrowdown: 'down',
  arrowleft: 'left',
  arrowright: 'right',
  arrowup: 'up',
  capslock: 'caps_lock',
  cmd: 'meta',
  command: 'meta',
  control: 'ctrl',
  del: 'delete',
  esc: 'escape',
  option: 'alt',
  pagedown: 'page_down',
  pageup: 'page_up',
  return: 'enter',
  super: 'meta',
  win: 'meta',
};

/** The canonical name of a key (`Return` → `enter`, `A` → `A`), or null for an unknown key. */
export function canonicalKey(text: string): string | null {
  const lower = text.toLowerCase();
  if (Object.hasOwn(KEY_ALIASES, lower)) return KEY_ALIASES[lower];
  if ((KEY_NAMES as readonly string[]).includes(lower)) return lower;
  return /^[^\p{C}\p{Z}]$/u.test(text) ? text : null;
}

export function isModifier(key: string): key is Modifier {
  return (MODIFIERS as readonly string[]).includes(key);
}
