import { DIRECTIONS, type Action } from '../action';
import { verb, type Unsupported, type Verb, type Verbs } from '../calls/call';
import { flatCall, jsonObjects } from '../calls/json-answer';
import { dialectOf, type DialectParts } from '../calls/make-dialect';
import type { Pen } from '../calls/pen';
import { oneOf, optional, text, x, y, type Param } from '../calls/params';
import { scroll } from '../calls/scrolls';

/** The original's default for unspecified quantities. */
const WAIT_SECONDS = 1;
const SCROLL_NOTCHES = 5;

const at = (action: 'click' | 'double_click' | 'long_press'): Verb =>
  verb({ x, y }, (place) => [{ action, x: place.x, y: place.y }]);

/** `clear_text`: the field is never cleared first. */
const kept: Param<undefined> = {
  optional: true,
  read(value) {
    if (value.node.type !== 'boolean' || value.node.value)
      throw value.rejected('unknown_value', 'false or left out');
    return undefined;
  },
};

const NO_APPS: Unsupported = { unsupported: 'apps are opened by their icons' };

const VERBS: Verbs = {
  click: at('click'),
  double_tap: at('double_click'),
  long_press: at('long_press'),
  // The original presses Enter after each text.
  input_text: verb(
    { text, x: optional(x), y: optional(y), clear_text: optional(kept) },
    ({ text: typed, ...place }) => [
      ...(place.x === undefined || place.y === undefined
        ? []
        : [{ action: 'click' as const, x: place.x, y: place.y }]),
      { action: 'type', text: `${typed}\n` },
    ],
  ),
  keyboard_enter: verb({}, () => [{ action: 'key', keys: ['enter'] }]),
  scroll: verb(
    { direction: oneOf(...DIRECTIONS), x: optional(x), y: optional(y) },
    ({ direction, ...place }) => [scroll(direction, SCROLL_NOTCHES, place)],
  ),
  swipe: verb(
    { direction: oneOf(...DIRECTIONS), x: optional(x), y: optional(y) },
    ({ direction, ...place }) => [
      {
        action: 'swipe',
        direction,
        ...(place.x === undefined || place.y === undefined ? {} : { x: place.x, y: place.y }),
      },
    ],
  ),
  navigate_home: verb({}, () => [{ action: 'button', button: 'home' }]),
  navigate_back: verb({}, () => [{ action: 'button', button: 'back' }]),
  wait: verb({}, () => [{ action: 'wait', seconds: WAIT_SECONDS }]),
  status: verb({ goal_status: oneOf('complete', 'infeasible') }, ({ goal_status: status }) => [
    { action: 'finish', success: status === 'complete' },
  ]),
  answer: verb({ text }, ({ text: message }) => [{ action: 'finish', success: true, message }]),
  open_app: NO_APPS,
  unknown: { unsupported: 'it does nothing' },
};

function callOf(action: Action, pen: Pen): object | undefined {
  const point = (place: { x?: number; y?: number }) =>
    place.x === undefined ? {} : { x: pen.x(place.x), y: pen.y(place.y!) };
  switch (action.action) {
    case 'click':
    case 'long_press':
      return { action_type: action.action, ...point(action) };
    case 'double_click':
      return { action_type: 'double_tap', ...point(action) };
    case 'type':
      return action.text.endsWith('\n')
        ? { action_type: 'input_text', text: action.text.slice(0, -1) }
        : undefined;
    case 'key':
      return keyOf(action.keys);
    case 'scroll':
      return { action_type: 'scroll', direction: action.direction, ...point(action) };
    case 'swipe':
      return 'from' in action
        ? undefined
        : { action_type: 'swipe', direction: action.direction, ...point(action) };
    case 'wait':
      return { action_type: 'wait' };
    case 'button': {
      const name = { home: 'navigate_home', back: 'navigate_back' }[action.button as string];
      return name === undefined ? undefined : { action_type: name };
    }
    case 'finish':
      if (action.success && action.message !== undefined)
        return { action_type: 'answer', text: action.message };
      return { action_type: 'status', goal_status: action.success ? 'complete' : 'infeasible' };
    default:
      return undefined;
  }
}

function keyOf(keys: readonly string[]): object | undefined {
  return keys.join(' ') === 'enter' ? { action_type: 'keyboard_enter' } : undefined;
}

const PARTS: DialectParts = {
  name: 'android_world',
  read: (answer) => jsonObjects(answer).map((node) => flatCall(node, 'action_type')),
  verbs: VERBS,
  ignored: new Set(['app_name', 'keycode']),
  write(action, pen) {
    const call = callOf(action, pen);
    return call && [JSON.stringify(call)];
  },
  join: (calls) => calls.join('\n'),
  form: 'Answer with a JSON object, behind "Action:" where you give a reason before.',
};

/**
 * AndroidWorld's actions: `{"action_type":"click","x":…,"y":…}`. Elements are not numbered here, so `index` is
 * rejected. Source: github.com/google-research/android_world, env/json_action.py and env/actuation.py.
 */
export const androidWorld = dialectOf(PARTS);
