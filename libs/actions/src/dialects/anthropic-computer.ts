import { DIRECTIONS, modifiersOf, type Action } from '../action';
import { blocksOf } from '../calls/anthropic-blocks';
import { verb, type Verb, type Verbs } from '../calls/call';
import { dialectOf, MAX_ACTIONS, type DialectParts } from '../calls/make-dialect';
import type { Pen } from '../calls/pen';
import {
  chord,
  held,
  integer,
  modifiers,
  number,
  oneOf,
  optional,
  place,
  region,
  text,
} from '../calls/params';
import { drag, scroll } from '../calls/scrolls';
import { joinKeys } from '../keys';
import { MAX_SCROLL_AMOUNT, MAX_SECONDS } from '../schema';

const at = (action: 'click' | 'right_click' | 'middle_click' | 'double_click' | 'triple_click'): Verb =>
  verb({ coordinate: place, text: modifiers }, ({ coordinate: [x, y], text: keys }) => [
    { action, x, y, ...held(keys) },
  ]);

const VERBS: Verbs = {
  key: verb({ text: chord, repeat: optional(integer(1, MAX_ACTIONS)) }, ({ text: keys, repeat = 1 }) =>
    Array.from({ length: repeat }, () => ({ action: 'key', keys })),
  ),
  type: verb({ text }, (typed) => [{ action: 'type', text: typed.text }]),
  mouse_move: verb({ coordinate: place }, ({ coordinate: [x, y] }) => [{ action: 'move', x, y }]),
  left_click: at('click'),
  right_click: at('right_click'),
  middle_click: at('middle_click'),
  double_click: at('double_click'),
  triple_click: at('triple_click'),
  left_click_drag: verb(
    { start_coordinate: place, coordinate: place, text: modifiers },
    ({ start_coordinate: from, coordinate: to, text: keys }) => [drag(from, to, keys)],
  ),
  scroll: verb(
    {
      coordinate: optional(place),
      scroll_direction: oneOf(...DIRECTIONS),
      scroll_amount: integer(1, MAX_SCROLL_AMOUNT),
      text: modifiers,
    },
    ({ coordinate, scroll_direction: direction, scroll_amount: amount, text: keys }) => [
      scroll(direction, amount, coordinate && { x: coordinate[0], y: coordinate[1] }, keys),
    ],
  ),
  wait: verb({ duration: number(0, MAX_SECONDS) }, ({ duration }) => [{ action: 'wait', seconds: duration }]),
  // Each turn includes a new screenshot.
  screenshot: verb({}, () => [{ action: 'wait', seconds: 0 }]),
  hold_key: verb({ text: chord, duration: number(0, MAX_SECONDS) }, ({ text: keys, duration }) => [
    { action: 'key', keys, seconds: duration },
  ]),
  left_mouse_down: verb({}, () => [{ action: 'mouse_down' }]),
  left_mouse_up: verb({}, () => [{ action: 'mouse_up' }]),
  cursor_position: { unsupported: 'the pointer is where the last action left it' },
  zoom: verb({ region }, (zoomed) => [{ action: 'zoom', ...zoomed.region }]),
};

/** The member's name and its input. */
function callOf(action: Action, pen: Pen): [string, object] | undefined {
  const keys = modifiersOf(action);
  const chorded = keys.length === 0 ? {} : { text: joinKeys(keys) };
  switch (action.action) {
    case 'click':
      return ['left_click', { coordinate: pen.point([action.x, action.y]), ...chorded }];
    case 'move':
      if (keys.length > 0) return undefined;
      return ['mouse_move', { coordinate: pen.point([action.x, action.y]) }];
    case 'right_click':
    case 'middle_click':
    case 'double_click':
    case 'triple_click':
      return [action.action, { coordinate: pen.point([action.x, action.y]), ...chorded }];
    case 'drag':
      return ['left_click_drag', { ...dragOf(action, pen), ...chorded }];
    case 'swipe':
      return 'from' in action ? ['left_click_drag', dragOf(action, pen)] : undefined;
    case 'scroll': {
      const { direction, amount, x, y } = action;
      const coordinate = x === undefined ? {} : { coordinate: pen.point([x, y!]) };
      return ['scroll', { ...coordinate, scroll_direction: direction, scroll_amount: amount, ...chorded }];
    }
    case 'key':
      return action.seconds === undefined
        ? ['key', { text: joinKeys(action.keys) }]
        : ['hold_key', { text: joinKeys(action.keys), duration: action.seconds }];
    case 'mouse_down':
    case 'mouse_up':
      return action.x === undefined ? [`left_${action.action}`, {}] : undefined;
    case 'type':
      return ['type', { text: action.text }];
    case 'zoom':
      return ['zoom', { region: [...pen.point(action.from), ...pen.point(action.to)] }];
    case 'wait':
      return action.seconds === 0 ? ['screenshot', {}] : ['wait', { duration: action.seconds }];
    default:
      return undefined;
  }
}

function dragOf({ from, to }: Extract<Action, { from: unknown }>, pen: Pen): object {
  return { start_coordinate: pen.point(from), coordinate: pen.point(to) };
}

const PARTS: DialectParts = {
  name: 'anthropic_computer',
  ...blocksOf('computer', callOf),
  verbs: VERBS,
  refinements: ['modifiers', 'seconds'],
};

/**
 * Anthropic's `computer_toolset_20260801`:
 * `{"type":"tool_use","name":"left_click","toolset_name":"computer","input":{"coordinate":[x,y]}}`, and the earlier
 * `computer` tool. Source: the types of the npm package `@anthropic-ai/sdk` 1.12,
 * platform.claude.com/docs/en/agents-and-tools/tool-use/computer-use-tool.
 */
export const anthropicComputer = dialectOf(PARTS);
