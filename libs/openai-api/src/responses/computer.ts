import {
  keysWithShift,
  MAX_VIA,
  modifiersNamed,
  modifiersOf,
  pathOf,
  type Action,
  type DragAction,
  type Modified,
} from '@ui-rl/actions';
import type { ImageSize } from '@ui-rl/contracts';
import { invalid } from '../errors';
import { Fields, isObject } from '../fields';

/** Pixels per notch of the mouse wheel. */
const NOTCH = 100;
const MAX_ACTIONS = 64;
/** OpenAI's name of a button → our action. */
const CLICKS = new Map([
  ['left', 'click'],
  ['right', 'right_click'],
  ['wheel', 'middle_click'],
] as const) as ReadonlyMap<string, 'click' | 'right_click' | 'middle_click'>;

/**
 * Converts an action to OpenAI's vocabulary, as one or several actions; undefined if it has no equivalent (`button`,
 * `long_press`, `finish`).
 */
export function toOpenAi(action: Action, screen: ImageSize): object[] | undefined {
  const keys = modifiersOf(action).map((key) => key.toUpperCase());
  const written = withoutKeys(action, screen);
  return keys.length === 0 ? written : written?.map((each) => ({ ...each, keys }));
}

function withoutKeys(action: Action, screen: ImageSize): object[] | undefined {
  switch (action.action) {
    case 'click':
      return [{ type: 'click', button: 'left', x: action.x, y: action.y }];
    case 'right_click':
      return [{ type: 'click', button: 'right', x: action.x, y: action.y }];
    case 'middle_click':
      return [{ type: 'click', button: 'wheel', x: action.x, y: action.y }];
    case 'double_click':
      return [{ type: 'double_click', x: action.x, y: action.y }];
    case 'triple_click':
      return [
        { type: 'double_click', x: action.x, y: action.y },
        { type: 'click', button: 'left', x: action.x, y: action.y },
      ];
    case 'move':
      return [{ type: 'move', x: action.x, y: action.y }];
    case 'type':
      return [{ type: 'type', text: action.text }];
    case 'key':
      if (action.seconds !== undefined) return undefined;
      return [{ type: 'keypress', keys: keysWithShift(action.keys).map((key) => key.toUpperCase()) }];
    case 'wait':
      return [{ type: 'wait' }];
    case 'drag':
      return [drag(action)];
    case 'swipe':
      return 'from' in action ? [drag(action)] : undefined;
    case 'scroll': {
      const {
        direction,
        amount,
        x = Math.floor(screen.width / 2),
        y = Math.floor(screen.height / 2),
      } = action;
      const pixels = amount * NOTCH * (direction === 'up' || direction === 'left' ? -1 : 1);
      const isSideways = direction === 'left' || direction === 'right';
      return [{ type: 'scroll', x, y, scroll_x: isSideways ? pixels : 0, scroll_y: isSideways ? 0 : pixels }];
    }
    default:
      return undefined;
  }
}

function drag(along: Pick<DragAction, 'from' | 'via' | 'to'>): object {
  return { type: 'drag', path: pathOf(along).map(([x, y]) => ({ x, y })) };
}

/**
 * Converts the actions of a `computer_call` to our vocabulary. Drops `screenshot`, which performs nothing.
 *
 * @throws ApiError that names the unreadable part
 */
export function fromOpenAi(call: Fields): Action[] {
  const listed = call.list('actions', MAX_ACTIONS);
  const single = call.raw('action');
  const given = listed ?? (single === undefined ? [] : [single]);
  return given.flatMap((value, index) => {
    const path = listed === undefined ? call.at('action') : `${call.at('actions')}[${index}]`;
    return readAction(Fields.of(value, path));
  });
}

function readAction(fields: Fields): Action[] {
  const type = fields.requiredText('type');
  const coordinate = (name: string): number => {
    const value = fields.number(name, { min: 0, max: 65_535, integer: true });
    if (value === undefined) throw fields.missing(name);
    return value;
  };
  switch (type) {
    case 'click': {
      const button = fields.text('button') ?? 'left';
      const action = CLICKS.get(button);
      if (action === undefined) throw invalid(fields.at('button'), 'expected left, right or wheel');
      return [{ action, x: coordinate('x'), y: coordinate('y'), ...heldKeys(fields) }];
    }
    case 'double_click':
    case 'move':
      return [{ action: type, x: coordinate('x'), y: coordinate('y'), ...heldKeys(fields) }];
    case 'type':
      return [{ action: 'type', text: fields.requiredText('text') }];
    case 'keypress':
      return [
        { action: 'key', keys: (fields.list('keys', 16) ?? []).map((key) => String(key).toLowerCase()) },
      ];
    case 'wait':
      return [{ action: 'wait', seconds: 1 }];
    case 'screenshot':
      return [];
    case 'drag':
      return [readDrag(fields)];
    case 'scroll':
      return readScroll(fields, coordinate);
    default:
      throw invalid(fields.at('type'), `"${type}" is not an action of the computer tool`);
  }
}

function readDrag(fields: Fields): Action {
  const path = (fields.list('path', MAX_VIA + 2) ?? [])
    .filter(isObject)
    .map(({ x, y }) => [Number(x), Number(y)] as const);
  if (path.length < 2 || !path.flat().every(Number.isInteger))
    throw invalid(fields.at('path'), 'expected two points or more');
  const via = path.slice(1, -1);
  const bends = via.length === 0 ? {} : { via };
  return { action: 'drag', from: path[0], ...bends, to: path[path.length - 1], ...heldKeys(fields) };
}

function heldKeys(fields: Fields): Modified {
  const modifiers = modifiersNamed((fields.list('keys', 16) ?? []).map(String));
  if (modifiers === null) throw invalid(fields.at('keys'), 'expected alt, ctrl, meta or shift');
  return modifiers.length === 0 ? {} : { modifiers };
}

function readScroll(fields: Fields, coordinate: (name: string) => number): Action[] {
  const [x, y] = [coordinate('x'), coordinate('y')];
  const across = fields.number('scroll_x', {}) ?? 0;
  const down = fields.number('scroll_y', {}) ?? 0;
  const notches = (pixels: number): number => Math.max(1, Math.round(Math.abs(pixels) / NOTCH));
  return [
    ...(down === 0
      ? []
      : [
          {
            action: 'scroll' as const,
            direction: down > 0 ? ('down' as const) : ('up' as const),
            amount: notches(down),
            x,
            y,
            ...heldKeys(fields),
          },
        ]),
    ...(across === 0
      ? []
      : [
          {
            action: 'scroll' as const,
            direction: across > 0 ? ('right' as const) : ('left' as const),
            amount: notches(across),
            x,
            y,
            ...heldKeys(fields),
          },
        ]),
  ];
}
