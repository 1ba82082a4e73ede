import { keyOfName, namesInChord } from '@ui-rl/plugin-kit';
import { ServeError } from './serve-error';

/** The raw query of `/act`. */
export type ActQuery = Readonly<Record<string, string | string[] | undefined>>;

const POINTERS: Readonly<Record<string, string>> = {
  mouse_move: 'move',
  left_click: 'click',
  right_click: 'right_click',
  double_click: 'double_click',
  triple_click: 'triple_click',
};
/** Notches of one `scroll`. */
const NOTCHES = 3;
const MAX_DELAY = 30;
const TYPES = ['screenshot', ...Object.keys(POINTERS), 'type', 'keys', 'scroll'];

/**
 * The action of a query; null to only return the screen. @throws ServeError that names the invalid or missing field
 */
export function actionOf(query: ActQuery): object | null {
  const type = textOf(query, 'action_type');
  if (type === 'screenshot') return null;
  if (Object.hasOwn(POINTERS, type)) {
    return { action: POINTERS[type], x: pixelOf(query, 'x'), y: pixelOf(query, 'y') };
  }
  if (type === 'type') return { action: 'type', text: textOf(query, 'text') };
  if (type === 'keys') return { action: 'key', keys: keysIn(textOf(query, 'keys')) };
  if (type === 'scroll') return scrollOf(query);
  throw new ServeError(
    'bad_request',
    `found "${type.slice(0, 100)}", expected one of ${TYPES.join(', ')}`,
    'action_type',
  );
}

/** Seconds between an action and its screenshot; default 1. @throws ServeError */
export function delayOf({ delay = '1' }: ActQuery): number {
  const seconds = Number(delay);
  if (seconds >= 0 && seconds <= MAX_DELAY) return seconds;
  throw new ServeError('bad_request', `expected a number from 0 to ${MAX_DELAY}`, 'delay');
}

/** The original scrolls with pyautogui: anything but up is down. */
function scrollOf(query: ActQuery): object {
  const direction = textOf(query, 'direction').toLowerCase() === 'up' ? 'up' : 'down';
  const has = query.x !== undefined && query.y !== undefined;
  const at = has ? { x: pixelOf(query, 'x'), y: pixelOf(query, 'y') } : {};
  return { action: 'scroll', direction, amount: NOTCHES, ...at };
}

function keysIn(chord: string): string[] {
  const names = namesInChord(chord, false);
  if (names !== null) return names.map(keyOf);
  throw new ServeError('bad_request', `found "${chord.slice(0, 100)}", expected keys such as ctrl+a`, 'keys');
}

function keyOf(name: string): string {
  const key = keyOfName(name);
  if (key !== null) return key;
  throw new ServeError('bad_request', `there is no key "${name.slice(0, 100)}"`, 'keys');
}

function textOf(query: ActQuery, field: string): string {
  const value = query[field];
  if (typeof value === 'string' && value !== '') return value;
  throw new ServeError('bad_request', 'is missing', field);
}

function pixelOf(query: ActQuery, field: string): number {
  const text = textOf(query, field);
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new ServeError(
    'bad_request',
    `found "${text.slice(0, 100)}", expected a whole number of pixels`,
    field,
  );
}
