import { BUTTONS, DIRECTIONS, type Action, type Point } from '../action';
import { verb, type Call, type Verb, type Verbs } from '../calls/call';
import { entryOf, flatCall, nestedCall, toolCalls } from '../calls/json-answer';
import { dialectOf, type DialectParts } from '../calls/make-dialect';
import type { Pen } from '../calls/pen';
import { flag, integer, keys, number, oneOf, optional, placeUnder, text } from '../calls/params';
import { Rejection } from '../calls/rejection';
import { NOTCH, notchesOf, scroll, stroke } from '../calls/scrolls';
import { withoutQuotes } from '../calls/text-arguments';
import { MAX_COORDINATE } from '../schema';

/** Pixels of the screenshot. */
const DEFAULT_DISTANCE = 300;
const DISTANCE = optional(integer(1, MAX_COORDINATE));
/** Limits of the recipe, in seconds. */
const [LEAST_WAIT, MOST_WAIT] = [0.1, 60];

const target = placeUnder('coordinates');

const click = verb({ target }, ({ target: [x, y] }) => [{ action: 'click', x, y }]);
const type = verb({ text }, (typed) => [{ action: 'type', text: typed.text }]);

const strokeVerb = (action: 'drag' | 'swipe'): Verb =>
  verb(
    {
      start_target: optional(target),
      end_target: optional(target),
      target: optional(target),
      direction: optional(oneOf(...DIRECTIONS)),
      distance: DISTANCE,
    },
    ({ start_target: from, end_target: to, target: start, direction, distance }) => {
      if (from !== undefined && to !== undefined) return [stroke(action, from, to)];
      if (direction === undefined || action === 'drag') return [];
      const place = start ?? from;
      const at = place === undefined ? {} : { x: place[0], y: place[1] };
      return [{ action: 'swipe', direction, distance: distance ?? DEFAULT_DISTANCE, ...at }];
    },
  );

/** Arguments of the tool `action`, all of which may occur in any call: each `action_type` uses its own. */
const FLAT = new Set(
  'target start_target end_target direction distance text keys button duration'.split(' '),
);

/** `action_type` of the tool `action`. */
const ACTIONS: Readonly<Record<string, Verb>> = {
  tap: click,
  click,
  touch: click,
  long_press: verb({ target, duration: optional(number(0, MOST_WAIT)) }, ({ target: [x, y], duration }) => [
    { action: 'long_press', x, y, ...(duration === undefined ? {} : { seconds: duration }) },
  ]),
  swipe: strokeVerb('swipe'),
  drag: strokeVerb('drag'),
  scroll: verb(
    { direction: oneOf(...DIRECTIONS), distance: DISTANCE, target: optional(target) },
    ({ direction, distance = DEFAULT_DISTANCE, target: at }) => [
      scroll(direction, notchesOf(distance), at && { x: at[0], y: at[1] }),
    ],
  ),
  input: type,
  type,
  key_press: verb({ keys }, (press) => [{ action: 'key', keys: press.keys }]),
  button_press: verb({ button: oneOf(...BUTTONS) }, ({ button }) => [{ action: 'button', button }]),
};

const FLAT_ACTIONS: Verbs = Object.fromEntries(
  Object.entries(ACTIONS).map(([name, each]) => [name, { ...each, ignored: FLAT }]),
);

/** The other tools. */
const TOOLS: Verbs = {
  wait: verb({ duration: number(LEAST_WAIT, MOST_WAIT) }, ({ duration }) => [
    { action: 'wait', seconds: duration },
  ]),
  finish: verb({ success: flag, result_message: optional(text) }, ({ success, result_message: message }) => [
    { action: 'finish', success, ...(message === undefined ? {} : { message }) },
  ]),
};

function read(answer: string): Call[] {
  return toolCalls(answer).map((node) => {
    const call = nestedCall(node, 'name', ['args', 'arguments']);
    if (call.name !== 'action') {
      if (Object.hasOwn(TOOLS, call.name)) return call;
      throw new Rejection('unknown_action', call.at, 'There is no tool but action, wait and finish.');
    }
    const args = withoutQuotes((entryOf(node, 'args') ?? entryOf(node, 'arguments'))?.node);
    if (args?.type !== 'object') throw new Rejection('missing_key', node, 'action needs "args", an object.');
    return flatCall(args, 'action_type');
  });
}

function write(action: Action, pen: Pen): string[] | undefined {
  const call = toolOf(action, pen);
  return call && [`<tool_call>${JSON.stringify(call)}</tool_call>`];
}

function toolOf(action: Action, pen: Pen): object | undefined {
  switch (action.action) {
    case 'wait':
      return action.seconds < LEAST_WAIT ? undefined : { name: 'wait', args: { duration: action.seconds } };
    case 'finish':
      return { name: 'finish', args: { success: action.success, result_message: action.message } };
    default: {
      const args = argumentsOf(action, pen);
      return args && { name: 'action', args };
    }
  }
}

function argumentsOf(action: Action, pen: Pen): object | undefined {
  const at = (point: Point) => ({ coordinates: pen.point(point) });
  switch (action.action) {
    case 'click':
      return { action_type: 'click', target: at([action.x, action.y]) };
    case 'long_press':
      return { action_type: 'long_press', target: at([action.x, action.y]), duration: action.seconds };
    case 'drag':
      return { action_type: 'drag', start_target: at(action.from), end_target: at(action.to) };
    case 'swipe': {
      if ('from' in action)
        return { action_type: 'swipe', start_target: at(action.from), end_target: at(action.to) };
      const { direction, distance, x, y } = action;
      return {
        action_type: 'swipe',
        direction,
        distance: distance ?? DEFAULT_DISTANCE,
        target: x === undefined ? undefined : at([x, y!]),
      };
    }
    case 'scroll': {
      const { direction, amount, x, y } = action;
      const place = x === undefined ? undefined : at([x, y!]);
      return { action_type: 'scroll', direction, distance: amount * NOTCH, target: place };
    }
    case 'type':
      return { action_type: 'type', text: action.text };
    case 'key':
      return { action_type: 'key_press', keys: action.keys };
    case 'button':
      return { action_type: 'button_press', button: action.button };
    default:
      return undefined;
  }
}

const PARTS: DialectParts = {
  name: 'cua',
  read,
  verbs: { ...FLAT_ACTIONS, ...TOOLS },
  write,
  join: (calls) => calls.join('\n'),
  form: 'Answer with JSON in a <tool_call>; there may be several tool calls.',
};

/**
 * The tool calls of Tinker's recipe for computer use: `action`, `wait` and `finish`. Only the coordinates of a target
 * are used.
 */
export const cua = dialectOf(PARTS);
