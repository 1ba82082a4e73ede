import { DIRECTIONS, type Action, type Direction } from '../action';
import { verb, type Unsupported, type Verb, type Verbs } from '../calls/call';
import { finished, readItems } from '../calls/items';
import { entryOf, jsonObjects, nestedCall, textUnder, type ObjectNode } from '../calls/json-answer';
import { dialectOf, type DialectParts, type Part } from '../calls/make-dialect';
import type { Pen } from '../calls/pen';
import { chord, flag, keys, length, number, oneKey, oneOf, optional, text, x, y } from '../calls/params';
import { NOTCH, notchesOf, placeOf, scroll } from '../calls/scrolls';
import type { Axes } from '../coordinates';
import { keysByName, keysWithShift } from '../keys';
import { MAX_KEYS, MAX_SECONDS } from '../schema';

/** Share of the screen for a scroll without a magnitude: 800 on the grid of 1000. */
const DEFAULT_SCROLL = 0.8;
/** Share of the screen for a sideways scroll of the whole document. */
const SIDEWAYS = 0.5;

const NO_ADDRESSES: Unsupported = { unsupported: 'there is no address bar' };
const NO_APPS: Unsupported = { unsupported: 'apps are opened by their icons' };

type Clicks = 'click' | 'right_click' | 'middle_click' | 'double_click' | 'triple_click' | 'move';
const at = (action: Clicks): Verb => verb({ x, y }, (place) => [{ action, x: place.x, y: place.y }]);

const PLACED_SCROLL = verb(
  { x, y, direction: oneOf(...DIRECTIONS), magnitude: optional(length) },
  ({ direction, magnitude, ...place }, axes) => {
    const { across, down } = magnitude ?? shareOf(axes, DEFAULT_SCROLL);
    return [scroll(direction, notchesOf(isSideways(direction) ? across : down), place)];
  },
);

/** Functions of Gemini 3.5 and later. */
const VERBS: Verbs = {
  click: at('click'),
  double_click: at('double_click'),
  triple_click: at('triple_click'),
  middle_click: at('middle_click'),
  right_click: at('right_click'),
  move: at('move'),
  long_press: verb({ x, y, seconds: optional(number(0, MAX_SECONDS)) }, ({ seconds, ...place }) => [
    { action: 'long_press', x: place.x, y: place.y, ...(seconds === undefined ? {} : { seconds }) },
  ]),
  type: verb({ text, press_enter: optional(flag) }, (typed) => [typing(typed.text, typed.press_enter)]),
  drag_and_drop: verb({ x, y, destination_x: x, destination_y: y }, (drag) => [
    { action: 'drag', from: [drag.x, drag.y], to: [drag.destination_x, drag.destination_y] },
  ]),
  scroll: PLACED_SCROLL,
  wait: verb({ seconds: optional(number(0, MAX_SECONDS)) }, ({ seconds = 1 }) => [
    { action: 'wait', seconds },
  ]),
  press_key: verb({ key: oneKey }, ({ key }) => [{ action: 'key', keys: [key] }]),
  hotkey: verb({ keys }, (press) => [{ action: 'key', keys: keysByName(press.keys) }]),
  go_back: verb({}, () => [{ action: 'button', button: 'back' }]),
  // Each turn includes a new screenshot.
  take_screenshot: verb({}, () => [{ action: 'wait', seconds: 0 }]),
  open_web_browser: verb({}, () => [{ action: 'wait', seconds: 0 }]),
  mouse_down: verb({ x, y }, (place) => [{ action: 'mouse_down', x: place.x, y: place.y }]),
  mouse_up: verb({ x, y }, (place) => [{ action: 'mouse_up', x: place.x, y: place.y }]),
  key_down: verb({ key: oneKey }, ({ key }) => [{ action: 'key_down', key }]),
  key_up: verb({ key: oneKey }, ({ key }) => [{ action: 'key_up', key }]),
  go_forward: { unsupported: 'there is no way forward' },
  navigate: NO_ADDRESSES,
  search: NO_ADDRESSES,
  open_app: NO_APPS,
  list_apps: NO_APPS,
};

/** Functions of Gemini 2.5 and 3. */
const EARLIER: Verbs = {
  click_at: at('click'),
  hover_at: at('move'),
  type_text_at: verb(
    { x, y, text, press_enter: optional(flag), clear_before_typing: optional(flag) },
    ({ press_enter: pressEnter, clear_before_typing: clear = true, ...typed }) => [
      { action: 'click', x: typed.x, y: typed.y },
      ...(clear ? CLEAR : []),
      typing(typed.text, pressEnter),
    ],
  ),
  scroll_document: verb({ direction: oneOf(...DIRECTIONS) }, ({ direction }, axes) => [
    documentScroll(direction, axes),
  ]),
  scroll_at: PLACED_SCROLL,
  wait_5_seconds: verb({}, () => [{ action: 'wait', seconds: 5 }]),
  key_combination: verb({ keys: chord }, (press) => [{ action: 'key', keys: keysByName(press.keys) }]),
};

const CLEAR: Action[] = [
  { action: 'key', keys: ['ctrl', 'a'] },
  { action: 'key', keys: ['backspace'] },
];

function typing(typed: string, pressEnter = false): Action {
  return { action: 'type', text: pressEnter ? `${typed}\n` : typed };
}

function documentScroll(direction: Direction, axes: Axes): Action {
  if (isSideways(direction)) return scroll(direction, notchesOf(shareOf(axes, SIDEWAYS).across));
  return { action: 'key', keys: [direction === 'down' ? 'page_down' : 'page_up'] };
}

/** A share of the screen in pixels along each axis. */
function shareOf({ x: across, y: down }: Axes, share: number): { across: number; down: number } {
  return { across: share * across.pixels, down: share * down.pixels };
}

function isSideways(direction: Direction): boolean {
  return direction === 'left' || direction === 'right';
}

/** Parts of a content, or steps of an interaction: function calls, text, and thoughts. */
function read(answer: string): Part[] {
  return readItems(jsonObjects(answer), {
    isThought,
    isMessage: (part) => textUnder(part, 'text') !== undefined && textUnder(part, 'name') === undefined,
    call: (part) => [callOfPart(part)],
    finish: (parts) => [finished(parts.map((part) => textUnder(part, 'text') ?? '').join(''))],
  });
}

/** `{"thought": true, "text": …}` in a content, `{"type": "thought", …}` in an interaction. */
function isThought(part: ObjectNode): boolean {
  const mark = entryOf(part, 'thought')?.node;
  return (mark?.type === 'boolean' && mark.value) || textUnder(part, 'type') === 'thought';
}

function callOfPart(part: ObjectNode): Part {
  const inner = (entryOf(part, 'functionCall') ?? entryOf(part, 'function_call'))?.node;
  return nestedCall(inner?.type === 'object' ? inner : part, 'name', ['args', 'arguments']);
}

function write(action: Action, pen: Pen): string[] | undefined {
  if (action.action === 'finish')
    return action.success ? [JSON.stringify({ text: action.message ?? '' })] : undefined;
  const call = callOf(action, pen);
  return call && [JSON.stringify({ functionCall: { name: call[0], args: call[1] } })];
}

function callOf(action: Action, pen: Pen): [string, object] | undefined {
  const point = (place: { x: number; y: number }) => ({ x: pen.x(place.x), y: pen.y(place.y) });
  switch (action.action) {
    case 'click':
    case 'double_click':
    case 'triple_click':
    case 'middle_click':
    case 'right_click':
    case 'move':
      return [action.action, point(action)];
    case 'key_down':
    case 'key_up':
      return [action.action, { key: action.key }];
    case 'mouse_down':
    case 'mouse_up':
      return action.x === undefined ? undefined : [action.action, point({ x: action.x, y: action.y! })];
    case 'long_press':
      return [
        'long_press',
        { ...point(action), ...(action.seconds === undefined ? {} : { seconds: action.seconds }) },
      ];
    case 'type':
      return ['type', { text: action.text }];
    case 'key': {
      const pressed = keysWithShift(action.keys);
      if (pressed.length > MAX_KEYS) return undefined;
      return pressed.length === 1 ? ['press_key', { key: pressed[0] }] : ['hotkey', { keys: pressed }];
    }
    case 'drag':
    case 'swipe': {
      if (!('from' in action)) return undefined;
      const [toX, toY] = pen.point(action.to);
      const from = point({ x: action.from[0], y: action.from[1] });
      return ['drag_and_drop', { ...from, destination_x: toX, destination_y: toY }];
    }
    case 'scroll': {
      const { direction, amount } = action;
      const pixels = amount * NOTCH;
      const magnitude = isSideways(direction) ? pen.across(pixels) : pen.down(pixels);
      return ['scroll', { ...point(placeOf(action, pen.screen)), direction, magnitude }];
    }
    case 'wait':
      return action.seconds === 0 ? ['take_screenshot', {}] : ['wait', { seconds: action.seconds }];
    case 'button':
      return action.button === 'back' ? ['go_back', {}] : undefined;
  }
  return undefined;
}

const PARTS: DialectParts = {
  name: 'gemini_computer',
  read,
  verbs: { ...VERBS, ...EARLIER },
  ignored: new Set(['intent', 'safety_decision']),
  write,
  join: (calls) => (calls.length === 1 ? calls[0] : `[${calls.join(',')}]`),
  form: 'Answer with a JSON object, the call of a function, or with a list of them; a text without a call ends the task.',
};

/**
 * Gemini's computer use: `{"functionCall":{"name":"click","args":{"x":…,"y":…}}}`, with the functions of Gemini 3.5
 * and the earlier ones (`click_at` …). Source: github.com/google-gemini/computer-use-preview, agent.py;
 * ai.google.dev/gemini-api/docs/computer-use.
 */
export const geminiComputer = dialectOf(PARTS);
