import {
  BUTTONS,
  DIRECTIONS,
  modifiersOf,
  pathOf,
  POINT_ACTIONS,
  type Action,
  type ScrollAction,
  WINDOW_CHANGES,
} from '../action';
import { MAX_COORDINATE, MAX_SCROLL_AMOUNT, MAX_SECONDS, MAX_WINDOW } from '../schema';
import { verb, type Verb, type Verbs } from './call';
import type { Pen } from './pen';
import {
  flag,
  held,
  integer,
  keys,
  modifiers,
  number,
  oneKey,
  oneOf,
  optional,
  path,
  text,
  x,
  y,
  type Param,
} from './params';
import { button, drag, scroll } from './scrolls';

const ENDS = { x, y, to_x: x, to_y: y };

/**
 * The whole vocabulary as functions with positional arguments: for action formats that write `name(1, 2)` or `1 2
 * name`.
 */
export const PLAIN_VERBS: Verbs = {
  ...Object.fromEntries(POINT_ACTIONS.map((action): [string, Verb] => [action, pointVerb(action)])),
  left_click: pointVerb('click'),
  mouse_move: pointVerb('move'),
  long_press: verb(
    { x, y, seconds: optional(number(0, MAX_SECONDS)) },
    ({ seconds, ...at }) => [
      { action: 'long_press', x: at.x, y: at.y, ...(seconds === undefined ? {} : { seconds }) },
    ],
    ['x', 'y', 'seconds'],
  ),
  type: verb({ text }, (typed) => [{ action: 'type', text: typed.text }], ['text']),
  keys: keysVerb(),
  key: keysVerb(),
  hold_keys: verb(
    { keys, seconds: number(0, MAX_SECONDS) },
    (pressed) => [{ action: 'key', keys: pressed.keys, seconds: pressed.seconds }],
    ['keys', 'seconds'],
  ),
  key_down: verb({ key: oneKey }, ({ key }) => [{ action: 'key_down', key }], ['key']),
  key_up: verb({ key: oneKey }, ({ key }) => [{ action: 'key_up', key }], ['key']),
  mouse_down: verb({ x: optional(x), y: optional(y) }, (at) => [button('mouse_down', at)], ['x', 'y']),
  mouse_up: verb({ x: optional(x), y: optional(y) }, (at) => [button('mouse_up', at)], ['x', 'y']),
  scroll: verb(
    {
      direction: oneOf(...DIRECTIONS),
      amount: integer(1, MAX_SCROLL_AMOUNT),
      x: optional(x),
      y: optional(y),
      modifiers,
    },
    ({ direction, amount, modifiers: keys, ...at }) => [scroll(direction, amount, at, keys)],
    ['direction', 'amount', 'x', 'y', 'modifiers'],
  ),
  drag: verb(
    { ...ENDS, modifiers },
    (ends) => [drag([ends.x, ends.y], [ends.to_x, ends.to_y], ends.modifiers)],
    [...Object.keys(ENDS), 'modifiers'],
  ),
  drag_along: verb(
    { path, modifiers },
    (along) => [{ action: 'drag', ...along.path, ...held(along.modifiers) }],
    ['path', 'modifiers'],
  ),
  swipe: verb(
    ENDS,
    (ends) => [{ action: 'swipe', from: [ends.x, ends.y], to: [ends.to_x, ends.to_y] }],
    Object.keys(ENDS),
  ),
  swipe_to: verb(
    {
      direction: oneOf(...DIRECTIONS),
      distance: optional(integer(1, MAX_COORDINATE)),
      x: optional(x),
      y: optional(y),
    },
    ({ direction, distance, ...at }) => [
      {
        action: 'swipe',
        direction,
        ...(distance === undefined ? {} : { distance }),
        ...(at.x === undefined || at.y === undefined ? {} : { x: at.x, y: at.y }),
      },
    ],
    ['direction', 'distance', 'x', 'y'],
  ),
  button: verb({ button: oneOf(...BUTTONS) }, ({ button }) => [{ action: 'button', button }], ['button']),
  window: verb({ change: oneOf(...WINDOW_CHANGES) }, ({ change }) => [{ action: 'window', change }], [
    'change',
  ]),
  show_window: verb(
    { number: integer(1, MAX_WINDOW) },
    (window) => [{ action: 'window', number: window.number }],
    ['number'],
  ),
  zoom: verb(
    ENDS,
    (ends) => [{ action: 'zoom', from: [ends.x, ends.y], to: [ends.to_x, ends.to_y] }],
    Object.keys(ENDS),
  ),
  wait: verb({ seconds: number(0, MAX_SECONDS) }, ({ seconds }) => [{ action: 'wait', seconds }], [
    'seconds',
  ]),
  finish: verb(
    { success: flag, message: optional(text) },
    ({ success, message }) => [{ action: 'finish', success, ...(message === undefined ? {} : { message }) }],
    ['success', 'message'],
  ),
};

function pointVerb(action: (typeof POINT_ACTIONS)[number]): Verb {
  return verb({ x, y, modifiers }, (at) => [{ action, x: at.x, y: at.y, ...held(at.modifiers) }], [
    'x',
    'y',
    'modifiers',
  ]);
}

function keysVerb(): Verb {
  const names = ['key1', 'key2', 'key3', 'key4', 'key5'];
  const params = Object.fromEntries(
    names.map((name, index): [string, Param<string | undefined>] => [
      name,
      index === 0 ? oneKey : optional(oneKey),
    ]),
  );
  const read = (values: Record<string, string | undefined>): Action[] => [
    { action: 'key', keys: names.flatMap((name) => values[name] ?? []) },
  ];
  return verb(params, read, names);
}

/** The function of an action and its arguments; null for an omitted argument before others. */
export function plainCall(action: Action, pen: Pen): [string, unknown[]] | undefined {
  const held = modifiersOf(action);
  const chord = held.length === 0 ? [] : [held.join('+')];
  switch (action.action) {
    case 'click':
      return ['left_click', [...pen.point([action.x, action.y]), ...chord]];
    case 'move':
      return ['mouse_move', [...pen.point([action.x, action.y]), ...chord]];
    case 'double_click':
    case 'triple_click':
    case 'right_click':
    case 'middle_click':
      return [action.action, [...pen.point([action.x, action.y]), ...chord]];
    case 'long_press': {
      const seconds = action.seconds === undefined ? [] : [action.seconds];
      return ['long_press', [...pen.point([action.x, action.y]), ...seconds]];
    }
    case 'type':
      return ['type', [action.text]];
    case 'key':
      return action.seconds === undefined
        ? ['keys', action.keys]
        : ['hold_keys', [action.keys, action.seconds]];
    case 'key_down':
    case 'key_up':
      return [action.action, [action.key]];
    case 'mouse_down':
    case 'mouse_up':
      return [action.action, placeOf(action, pen)];
    case 'scroll':
      return ['scroll', [action.direction, action.amount, ...scrolledAt(action, pen, chord), ...chord]];
    case 'drag':
      if (action.via !== undefined) return ['drag_along', [pathOf(action).map(pen.point), ...chord]];
      return ['drag', [...pen.point(action.from), ...pen.point(action.to), ...chord]];
    case 'swipe': {
      if ('from' in action) return ['swipe', [...pen.point(action.from), ...pen.point(action.to)]];
      const place = placeOf(action, pen);
      const distance = action.distance ?? (place.length > 0 ? null : undefined);
      return ['swipe_to', [action.direction, ...(distance === undefined ? [] : [distance]), ...place]];
    }
    case 'button':
      return ['button', [action.button]];
    case 'window':
      return 'change' in action ? ['window', [action.change]] : ['show_window', [action.number]];
    case 'zoom':
      return ['zoom', [...pen.point(action.from), ...pen.point(action.to)]];
    case 'wait':
      return ['wait', [action.seconds]];
    case 'finish':
      return ['finish', [action.success, ...(action.message === undefined ? [] : [action.message])]];
  }
}

function scrolledAt(action: ScrollAction, pen: Pen, chord: readonly string[]): (number | null)[] {
  const place = placeOf(action, pen);
  return place.length === 0 && chord.length > 0 ? [null, null] : place;
}

function placeOf({ x: across, y: down }: { x?: number; y?: number }, pen: Pen): number[] {
  return across === undefined || down === undefined ? [] : pen.point([across, down]);
}
