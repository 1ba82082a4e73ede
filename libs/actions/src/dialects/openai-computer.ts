import { modifiersOf, pathOf, type Action, type DragAction, type Modifier } from '../action';
import { dialectOf, type DialectParts, type Part } from '../calls/make-dialect';
import type { Pen } from '../calls/pen';
import { finished, readItems } from '../calls/items';
import { entryOf, flatCall, jsonObjects, textUnder, type ObjectNode } from '../calls/json-answer';
import { verb, type Call, type Verbs } from '../calls/call';
import {
  anything,
  except,
  held,
  keys,
  modifiers,
  number,
  oneOf,
  optional,
  path,
  text,
  x,
  y,
} from '../calls/params';
import { Rejection } from '../calls/rejection';
import { notchesOf, NOTCH, placeOf, scroll } from '../calls/scrolls';
import { keysByName, keysWithShift } from '../keys';
import { MAX_KEYS } from '../schema';

/** Pixels; limited to MAX_SCROLL_AMOUNT notches. */
const SCROLLED = number(-100_000, 100_000);
/** Duration of a `wait`, which states none. */
const WAIT_SECONDS = 1;

const BUTTON = except(oneOf('left', 'right', 'wheel', 'back'), { forward: 'there is no way forward' });

const VERBS: Verbs = {
  click: verb(
    { button: optional(BUTTON), x, y, keys: modifiers },
    ({ button = 'left', ...at }, _axes, call) => [clickOf(button, at, call)],
  ),
  double_click: verb({ x, y, keys: modifiers }, (at) => [
    { action: 'double_click', x: at.x, y: at.y, ...held(at.keys) },
  ]),
  move: verb({ x, y, keys: modifiers }, (at) => [{ action: 'move', x: at.x, y: at.y, ...held(at.keys) }]),
  drag: verb({ path, keys: modifiers }, (dragged) => [
    { action: 'drag', ...dragged.path, ...held(dragged.keys) },
  ]),
  scroll: verb(
    { x, y, scroll_x: optional(SCROLLED), scroll_y: optional(SCROLLED), keys: modifiers },
    ({ scroll_x: across = 0, scroll_y: down = 0, keys: pressed, ...at }) => [
      ...(down === 0 ? [] : [scroll(down > 0 ? 'down' : 'up', notchesOf(down), at, pressed)]),
      ...(across === 0 ? [] : [scroll(across > 0 ? 'right' : 'left', notchesOf(across), at, pressed)]),
    ],
  ),
  keypress: verb({ keys }, (press) => [{ action: 'key', keys: keysByName(press.keys) }]),
  type: verb({ text }, (typed) => [{ action: 'type', text: typed.text }]),
  wait: verb({}, () => [{ action: 'wait', seconds: WAIT_SECONDS }]),
  // Each turn includes a new screenshot.
  screenshot: verb({ detail: anything }, () => [{ action: 'wait', seconds: 0 }]),
};

function clickOf(
  button: 'left' | 'right' | 'wheel' | 'back',
  at: { x: number; y: number; keys: Modifier[] | undefined },
  call: Call,
): Action {
  if (button === 'back') {
    if (at.keys === undefined) return { action: 'button', button: 'back' };
    throw new Rejection('unknown_key', call, 'No keys can be held while the button back is clicked.');
  }
  const action = ({ left: 'click', right: 'right_click', wheel: 'middle_click' } as const)[button];
  return { action, x: at.x, y: at.y, ...held(at.keys) };
}

/** Items of a response: calls, reasoning, and the message that ends it. */
function read(answer: string): Part[] {
  return readItems(jsonObjects(answer), {
    isThought: (item) => textUnder(item, 'type') === 'reasoning',
    isMessage: (item) => textUnder(item, 'type') === 'message',
    call: callsOf,
    finish: (messages) => messages.map(finishOf),
  });
}

function callsOf(item: ObjectNode): Part[] {
  if (textUnder(item, 'type') !== 'computer_call') return [flatCall(item, 'type')];
  const found = entryOf(item, 'actions') ?? entryOf(item, 'action');
  const node = found?.node;
  if (node?.type === 'object') return [flatCall(node, 'type')];
  if (node?.type !== 'array')
    throw new Rejection('missing_key', node ?? item, 'A computer_call needs "actions", a list of actions.');
  return node.items.map((action) => {
    if (action.type !== 'object') throw new Rejection('wrong_type', action, 'An action is a JSON object.');
    return flatCall(action, 'type');
  });
}

function finishOf(message: ObjectNode): Action {
  const content = entryOf(message, 'content')?.node;
  const parts = content?.type === 'array' ? content.items.filter((part) => part.type === 'object') : [];
  const refusals = parts.filter((part) => textUnder(part, 'type') === 'refusal');
  if (refusals.length > 0)
    return finished(refusals.map((part) => textUnder(part, 'refusal') ?? '').join(''), false);
  return finished(parts.map((part) => textUnder(part, 'text') ?? '').join(''));
}

function write(action: Action, pen: Pen): string[] | undefined {
  if (action.action === 'finish') return [JSON.stringify(messageOf(action.success, action.message ?? ''))];
  return actionsOf(action, pen)?.map((each) => JSON.stringify(each));
}

function messageOf(success: boolean, said: string): object {
  const part = success ? { type: 'output_text', text: said } : { type: 'refusal', refusal: said };
  return { type: 'message', role: 'assistant', content: [part] };
}

function actionsOf(action: Action, pen: Pen): object[] | undefined {
  const pressed = modifiersOf(action).map((key) => key.toUpperCase());
  const keys = pressed.length === 0 ? {} : { keys: pressed };
  const click = (button: string, at: { x: number; y: number }) => ({
    type: 'click',
    button,
    x: pen.x(at.x),
    y: pen.y(at.y),
    ...keys,
  });
  switch (action.action) {
    case 'click':
      return [click('left', action)];
    case 'right_click':
      return [click('right', action)];
    case 'middle_click':
      return [click('wheel', action)];
    case 'double_click':
    case 'move':
      return [{ type: action.action, x: pen.x(action.x), y: pen.y(action.y), ...keys }];
    case 'triple_click':
      return [
        { type: 'double_click', x: pen.x(action.x), y: pen.y(action.y), ...keys },
        click('left', action),
      ];
    case 'drag':
      return [{ ...dragOf(action, pen), ...keys }];
    case 'swipe':
      return 'from' in action ? [dragOf(action, pen)] : undefined;
    case 'scroll':
      return [{ ...scrollOf(action, pen), ...keys }];
    case 'key': {
      const names = keysWithShift(action.keys).map((key) => (key.length > 1 ? key.toUpperCase() : key));
      return names.length > MAX_KEYS ? undefined : [{ type: 'keypress', keys: names }];
    }
    case 'type':
      return [{ type: 'type', text: action.text }];
    case 'wait':
      return [{ type: action.seconds === 0 ? 'screenshot' : 'wait' }];
    case 'button':
      return action.button === 'back' ? [click('back', placeOf({}, pen.screen))] : undefined;
    default:
      return undefined;
  }
}

function dragOf(along: Pick<DragAction, 'from' | 'via' | 'to'>, pen: Pen): object {
  return {
    type: 'drag',
    path: pathOf(along)
      .map(pen.point)
      .map(([x, y]) => ({ x, y })),
  };
}

function scrollOf(action: Extract<Action, { action: 'scroll' }>, pen: Pen): object {
  const { direction, amount } = action;
  const at = placeOf(action, pen.screen);
  const pixels = amount * NOTCH * (direction === 'up' || direction === 'left' ? -1 : 1);
  const isSideways = direction === 'left' || direction === 'right';
  const moved = { scroll_x: isSideways ? pixels : 0, scroll_y: isSideways ? 0 : pixels };
  return { type: 'scroll', x: pen.x(at.x), y: pen.y(at.y), ...moved };
}

/** A double click followed by a click at the same point selects like a triple click. */
function merge(actions: Action[]): Action[] {
  const merged: Action[] = [];
  for (const action of actions) {
    const last = merged.at(-1);
    const isThird =
      action.action === 'click' &&
      last?.action === 'double_click' &&
      last.x === action.x &&
      last.y === action.y &&
      modifiersOf(last).join() === modifiersOf(action).join();
    if (isThird) merged[merged.length - 1] = { ...last, action: 'triple_click' };
    else merged.push(action);
  }
  return merged;
}

/** Actions in one call; a message is a separate item. */
function join(items: string[]): string {
  const isMessage = (item: string) => item.startsWith('{"type":"message"');
  const actions = items.filter((item) => !isMessage(item));
  const call = actions.length === 0 ? [] : [`{"type":"computer_call","actions":[${actions.join(',')}]}`];
  const parts = [...call, ...items.filter(isMessage)];
  return parts.length === 1 ? parts[0] : `[${parts.join(',')}]`;
}

const PARTS: DialectParts = {
  name: 'openai_computer',
  read,
  verbs: VERBS,
  ignored: new Set(['id', 'status']),
  merge,
  refinements: ['modifiers', 'via'],
  write,
  join,
  form: 'Answer with a JSON object, a computer_call that has a list of actions; a message ends the task.',
};

/**
 * OpenAI's computer tool: `{"type":"computer_call","actions":[{"type":"click",…}]}`, or a plain action. A message
 * without any call ends the episode. Source: developers.openai.com/api/docs/guides/tools-computer-use, and the types
 * of the npm package `openai`.
 */
export const openAiComputer = dialectOf(PARTS);
