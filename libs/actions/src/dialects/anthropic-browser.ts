import { DIRECTIONS, modifiersOf, type Action, type Point } from '../action';
import { blocksOf } from '../calls/anthropic-blocks';
import { verb, type Unsupported, type Verb, type Verbs } from '../calls/call';
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
  type Param,
} from '../calls/params';
import { drag, placeOf, scroll } from '../calls/scrolls';
import { joinKeys } from '../keys';

/** Defaults and limits of the toolset. */
const [DEFAULT_SCROLL, MOST_SCROLL, MOST_SECONDS] = [3, 10, 30];

const NO_ELEMENTS: Unsupported = { unsupported: 'there is nothing but the screenshot' };

/** The number of a window as text. */
const TAB: Param<number> = {
  optional: false,
  read(value) {
    const { node } = value;
    const found = node.type === 'string' && /^[1-9]\d?$/.test(node.value) ? Number(node.value) : node;
    if (typeof found === 'number') return found;
    throw value.rejected('unknown_value', 'the number of a tab in the order of opening, such as "2"');
  },
};

const at = (action: 'click' | 'right_click' | 'middle_click' | 'double_click' | 'triple_click'): Verb =>
  verb({ target: place, modifiers }, ({ target: [x, y], modifiers: keys }) => [
    { action, x, y, ...held(keys) },
  ]);

const MOVE = verb({ target: place }, ({ target: [x, y] }) => [{ action: 'move', x, y }]);

const VERBS: Verbs = {
  left_click: at('click'),
  right_click: at('right_click'),
  middle_click: at('middle_click'),
  double_click: at('double_click'),
  triple_click: at('triple_click'),
  hover: MOVE,
  mouse_move: MOVE,
  left_click_drag: verb({ from: place, target: place }, ({ from, target: to }) => [drag(from, to)]),
  scroll: verb(
    {
      target: place,
      scroll_direction: oneOf(...DIRECTIONS),
      scroll_amount: optional(integer(1, MOST_SCROLL)),
    },
    ({ target: [x, y], scroll_direction: direction, scroll_amount: amount = DEFAULT_SCROLL }) => [
      scroll(direction, amount, { x, y }),
    ],
  ),
  type: verb({ text }, (typed) => [{ action: 'type', text: typed.text }]),
  key: verb({ text: chord, repeat: optional(integer(1, MAX_ACTIONS)) }, ({ text: keys, repeat = 1 }) =>
    Array.from({ length: repeat }, () => ({ action: 'key', keys })),
  ),
  wait: verb({ duration: number(0, MOST_SECONDS) }, ({ duration }) => [
    { action: 'wait', seconds: duration },
  ]),
  navigate: verb({ url: oneOf('back') }, () => [{ action: 'button', button: 'back' }]),
  // Each turn includes a new screenshot.
  screenshot: verb({}, () => [{ action: 'wait', seconds: 0 }]),
  hold_key: verb({ text: chord, duration: number(0, MOST_SECONDS) }, ({ text: keys, duration }) => [
    { action: 'key', keys, seconds: duration },
  ]),
  left_mouse_down: verb({ target: place }, ({ target: [x, y] }) => [{ action: 'mouse_down', x, y }]),
  left_mouse_up: verb({ target: place }, ({ target: [x, y] }) => [{ action: 'mouse_up', x, y }]),
  zoom: verb({ region }, (zoomed) => [{ action: 'zoom', ...zoomed.region }]),
  find: NO_ELEMENTS,
  form_input: NO_ELEMENTS,
  file_upload: NO_ELEMENTS,
  get_page_text: NO_ELEMENTS,
  read_page: NO_ELEMENTS,
  read_console: NO_ELEMENTS,
  read_network: NO_ELEMENTS,
  scroll_to: NO_ELEMENTS,
  javascript_exec: { unsupported: 'pages are operated as a person does' },
  list_tabs: { unsupported: 'the tab_id of a tab is its number in the order of opening: the first is "1"' },
  new_tab: verb({}, () => [{ action: 'window', change: 'new' }]),
  switch_tab: verb({ tab_id: TAB }, ({ tab_id: shown }) => [{ action: 'window', number: shown }]),
  close_tab: verb({ tab_id: optional(TAB) }, ({ tab_id: closed }) => [
    ...(closed === undefined ? [] : [{ action: 'window', number: closed } as const]),
    { action: 'window', change: 'close' },
  ]),
};

/** The member's name and its input. */
function callOf(action: Action, pen: Pen): [string, object] | undefined {
  const target = (point: Point) => {
    const [x, y] = pen.point(point);
    return { type: 'coordinate', x, y };
  };
  const keys = modifiersOf(action);
  const chorded = keys.length === 0 ? {} : { modifiers: joinKeys(keys) };
  // Only clicks have modifiers.
  if (keys.length > 0 && !action.action.endsWith('click')) return undefined;
  switch (action.action) {
    case 'click':
      return ['left_click', { target: target([action.x, action.y]), ...chorded }];
    case 'move':
      return ['hover', { target: target([action.x, action.y]) }];
    case 'right_click':
    case 'middle_click':
    case 'double_click':
    case 'triple_click':
      return [action.action, { target: target([action.x, action.y]), ...chorded }];
    case 'drag':
    case 'swipe':
      if (!('from' in action)) return undefined;
      return ['left_click_drag', { from: target(action.from), target: target(action.to) }];
    case 'scroll': {
      if (action.amount > MOST_SCROLL) return undefined;
      const { x, y } = placeOf(action, pen.screen);
      const { direction, amount } = action;
      return ['scroll', { target: target([x, y]), scroll_direction: direction, scroll_amount: amount }];
    }
    case 'key':
      if (action.seconds === undefined) return ['key', { text: joinKeys(action.keys) }];
      if (action.seconds > MOST_SECONDS) return undefined;
      return ['hold_key', { text: joinKeys(action.keys), duration: action.seconds }];
    case 'mouse_down':
    case 'mouse_up':
      if (action.x === undefined) return undefined;
      return [`left_${action.action}`, { target: target([action.x, action.y!]) }];
    case 'type':
      return ['type', { text: action.text }];
    case 'window':
      if ('number' in action) return ['switch_tab', { tab_id: String(action.number) }];
      if (action.change === 'new') return ['new_tab', {}];
      return action.change === 'close' ? ['close_tab', {}] : undefined;
    case 'zoom':
      return ['zoom', { region: [...pen.point(action.from), ...pen.point(action.to)] }];
    case 'wait':
      if (action.seconds > MOST_SECONDS) return undefined;
      return action.seconds === 0 ? ['screenshot', {}] : ['wait', { duration: action.seconds }];
    case 'button':
      return action.button === 'back' ? ['navigate', { url: 'back' }] : undefined;
    default:
      return undefined;
  }
}

const PARTS: DialectParts = {
  name: 'anthropic_browser',
  ...blocksOf('browser', callOf),
  verbs: VERBS,
  ignored: new Set(['tab_id']),
  refinements: ['modifiers', 'seconds'],
};

/**
 * Anthropic's `browser_toolset_20260801`, as far as it operates on the visible screen: coordinates as
 * `{"type":"coordinate","x":…,"y":…}`. Source: the types of the npm package `@anthropic-ai/sdk` 1.12.
 */
export const anthropicBrowser = dialectOf(PARTS);
