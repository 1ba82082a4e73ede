import { keyOfName, modifiersNamed, namesInChord, type Action, type Modified } from '@ui-rl/actions';

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Where a call acts, in CSS pixels of the page. */
export interface Spot {
  point?: { x: number; y: number };
  box?: Box;
}

/** A call of Playwright's API in a trace. */
export interface TracedCall extends Spot {
  method: string;
  params: Record<string, unknown>;
  /** The other end of a drag. */
  to?: { x: number; y: number } | undefined;
}

/** The mouse and keyboard actions of a call, or why it has no equivalent. */
export type TracedActions = ({ actions: Action[] } | { reason: string }) & {
  /** The element that has the keyboard focus afterwards. */
  focus?: Box;
};

/** Calls that change the page otherwise than by mouse and keyboard. */
export const NOT_EXPRESSIBLE: ReadonlySet<string> = new Set([
  ...['goto', 'goBack', 'goForward', 'reload', 'navigate'],
  ...['selectOption', 'setInputFiles', 'dispatchEvent', 'drop'],
]);

/** A wheel notch of Chromium, in pixels. */
const NOTCH_PIXELS = 100;
const CLICKS = { left: 'click', right: 'right_click', middle: 'middle_click' } as const;
const TIMES = [undefined, 'click', 'double_click', 'triple_click'] as const;

/** Undefined for calls that only read, wait or check. */
export function actionsOf(call: TracedCall, focus: Box | undefined): TracedActions | undefined {
  const { method, params, point, box } = call;
  const focused = box === undefined ? {} : { focus: box };
  switch (method) {
    case 'click':
    case 'tap':
    case 'check':
    case 'uncheck':
    case 'mouseClick':
    case 'dblclick':
      // A box that is checked already is not clicked.
      return point === undefined ? undefined : { ...clicks(call, point), ...focused };
    case 'hover':
    case 'mouseMove':
      return moved(point ?? params);
    case 'dragAndDrop':
      return dragged(call);
    case 'fill':
      return { ...filled(params, box, focus), ...focused };
    case 'type':
    case 'press':
      return { ...keyed(method, params, box, focus), ...focused };
    case 'keyboardType':
    case 'keyboardInsertText':
      return typed(params.text);
    case 'keyboardPress':
      return pressed(params.key);
    case 'mouseDown':
    case 'mouseUp':
      return params.button === undefined || params.button === 'left'
        ? { actions: [{ action: method === 'mouseDown' ? 'mouse_down' : 'mouse_up' }] }
        : { reason: `${method} of another button than the left one` };
    case 'keyboardDown':
    case 'keyboardUp':
      return heldKey(method === 'keyboardDown' ? 'key_down' : 'key_up', params.key);
    case 'mouseWheel':
      return wheel(params);
    default:
      return undefined;
  }
}

function clicks({ method, params }: TracedCall, { x, y }: { x: number; y: number }): TracedActions {
  const { button = 'left', clickCount = method === 'dblclick' ? 2 : 1 } = params;
  const isLeft = button === 'left';
  const name = isLeft
    ? TIMES[typeof clickCount === 'number' ? clickCount : 0]
    : CLICKS[button as keyof typeof CLICKS];
  if (name === undefined || (!isLeft && clickCount !== 1))
    return { reason: `${method} of ${String(clickCount)} clicks` };
  return { actions: [{ action: name, x, y, ...held(params.modifiers) }] };
}

/** Playwright has four modifiers, and `ControlOrMeta`. */
function held(modifiers: unknown): Modified {
  const names = Array.isArray(modifiers)
    ? modifiers.map((name) => (name === 'ControlOrMeta' ? 'ctrl' : String(name)))
    : [];
  const found = modifiersNamed(names) ?? [];
  return found.length === 0 ? {} : { modifiers: found };
}

function moved({ x, y }: { x?: unknown; y?: unknown }): TracedActions | undefined {
  return typeof x === 'number' && typeof y === 'number' ? { actions: [{ action: 'move', x, y }] } : undefined;
}

function dragged({ point, to }: TracedCall): TracedActions {
  if (point === undefined || to === undefined) return { reason: 'dragAndDrop without its two points' };
  return { actions: [{ action: 'drag', from: [point.x, point.y], to: [to.x, to.y] }] };
}

/** A click on the element first, unless it has the focus. */
function focusing(box: Box | undefined, focus: Box | undefined): Action[] {
  if (box === undefined || (focus !== undefined && focus.x === box.x && focus.y === box.y)) return [];
  return [{ action: 'click', x: box.x + box.width / 2, y: box.y + box.height / 2 }];
}

/** `fill` replaces the text of a field, which the trace does not tell. */
function filled(
  { value }: Record<string, unknown>,
  box: Box | undefined,
  focus: Box | undefined,
): TracedActions {
  if (typeof value !== 'string' || value === '') return { reason: 'fill with no text' };
  return { actions: [...focusing(box, focus), { action: 'type', text: value }] };
}

function keyed(
  method: 'type' | 'press',
  { text, key }: Record<string, unknown>,
  box: Box | undefined,
  focus: Box | undefined,
): TracedActions {
  const own = method === 'type' ? typed(text) : pressed(key);
  return 'reason' in own ? own : { actions: [...focusing(box, focus), ...own.actions] };
}

function typed(text: unknown): TracedActions {
  return typeof text === 'string' && text !== ''
    ? { actions: [{ action: 'type', text }] }
    : { reason: 'type with no text' };
}

/** @param chord `Control+Shift+A` */
function pressed(chord: unknown): TracedActions {
  const names = typeof chord === 'string' ? namesInChord(chord, false) : null;
  if (names === null) return { reason: 'press with no key' };
  const keys = names.map((name) => keyOfName(name === 'ControlOrMeta' ? 'ctrl' : name));
  const unknown = names.find((_, index) => keys[index] === null);
  return unknown === undefined
    ? { actions: [{ action: 'key', keys: keys as string[] }] }
    : { reason: `press of the key ${unknown}` };
}

function heldKey(action: 'key_down' | 'key_up', name: unknown): TracedActions {
  const key = keyOfName(name === 'ControlOrMeta' ? 'ctrl' : String(name));
  return key === null ? { reason: `${action} of the key ${String(name)}` } : { actions: [{ action, key }] };
}

function wheel({ deltaX = 0, deltaY = 0 }: Record<string, unknown>): TracedActions | undefined {
  const [across, down] = [Number(deltaX), Number(deltaY)];
  if (across === 0 && down === 0) return undefined;
  if (across !== 0 && down !== 0) return { reason: 'mouseWheel along both axes' };
  const pixels = down === 0 ? across : down;
  const direction = down === 0 ? (across > 0 ? 'right' : 'left') : down > 0 ? 'down' : 'up';
  const amount = Math.max(1, Math.round(Math.abs(pixels) / NOTCH_PIXELS));
  return { actions: [{ action: 'scroll', direction, amount }] };
}
