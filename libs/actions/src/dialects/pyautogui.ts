import type { Action } from '../action';
import { verb, type Call, type Verb, type Verbs } from '../calls/call';
import { FunctionReader } from '../calls/function-reader';
import { pythonString } from '../calls/python-strings';
import { refuseTrailing } from '../calls/json-answer';
import { dialectOf, MAX_ACTIONS, type DialectParts, type Part } from '../calls/make-dialect';
import type { Pen } from '../calls/pen';
import {
  anything,
  integer,
  keys,
  number,
  oneKey,
  oneOf,
  optional,
  text,
  x,
  y,
  type Param,
} from '../calls/params';
import { Rejection } from '../calls/rejection';
import { button, HERE, scroll } from '../calls/scrolls';
import { MAX_KEYS, MAX_SCROLL_AMOUNT, MAX_SECONDS } from '../schema';
import { dragsFrom } from './qwen-computer-use';

const XY = { x, y, duration: anything, tween: anything, logScreenshot: anything, _pause: anything };
const POSITIONAL = ['x', 'y'] as const;

const at = (action: 'double_click' | 'triple_click' | 'right_click' | 'middle_click'): Verb =>
  verb(
    { ...XY, interval: anything, button: optional(oneOf('left')) },
    (place) => [{ action, x: place.x, y: place.y }],
    POSITIONAL,
  );

const CLICKS = { 1: 'click', 2: 'double_click', 3: 'triple_click' } as const;

const click = verb(
  {
    ...XY,
    clicks: optional(integer(1, 3)),
    interval: anything,
    button: optional(oneOf('left', 'right', 'middle', 'primary', 'secondary')),
  },
  ({ clicks = 1, button = 'left', ...place }) => {
    const { x: across, y: down } = place;
    const isLeft = button === 'left' || button === 'primary';
    const one = isLeft ? CLICKS[clicks as 1 | 2 | 3] : button === 'middle' ? 'middle_click' : 'right_click';
    return Array.from({ length: isLeft ? 1 : clicks }, () => ({ action: one, x: across, y: down }));
  },
  ['x', 'y', 'clicks', 'interval', 'button'],
);

const wheel = (forward: 'up' | 'right', back: 'down' | 'left'): Verb =>
  verb(
    { clicks: integer(-MAX_SCROLL_AMOUNT, MAX_SCROLL_AMOUNT), x: optional(x), y: optional(y) },
    ({ clicks, ...place }) =>
      clicks === 0 ? [] : [scroll(clicks > 0 ? forward : back, Math.abs(clicks), place)],
    ['clicks', 'x', 'y'],
  );

/** One key, or a list of keys to press in sequence. */
const sequence: Param<string[]> = {
  optional: false,
  read(value) {
    const { node } = value;
    const names = node.type === 'array' ? node.items : [node];
    return names.map((each) => oneKey.read(value.part(each)));
  },
};

/** A text, or a list of keys and characters to press in sequence. */
const message: Param<Action[]> = {
  optional: false,
  read(value) {
    if (value.node.type !== 'array') return [{ action: 'type', text: text.read(value) }];
    return sequence.read(value).map((key) => ({ action: 'key', keys: [key] }));
  },
};

const write = verb(
  { message, interval: anything, logScreenshot: anything, _pause: anything },
  (written) => written.message,
  ['message', 'interval'],
);

/** The first key of a `hotkey`, or all of them as a list. */
const firstKeys: Param<{ keys: string[]; isList: boolean }> = {
  optional: false,
  read(value) {
    const isList = value.node.type === 'array';
    return { keys: isList ? keys.read(value) : [oneKey.read(value)], isList };
  },
};

/** Its other keys by name. */
const FURTHER_KEYS = Array.from({ length: MAX_KEYS - 1 }, (_, index) => `key${index + 2}`);
const FURTHER = Object.fromEntries(FURTHER_KEYS.map((name) => [name, optional(oneKey)])) as Record<
  string,
  Param<string | undefined>
>;

const holdKey = (action: 'key_down' | 'key_up'): Verb =>
  verb({ key: oneKey, logScreenshot: anything, _pause: anything }, ({ key }) => [{ action, key }], ['key']);

const holdButton = (action: 'mouse_down' | 'mouse_up'): Verb =>
  verb(
    { ...XY, x: optional(x), y: optional(y), button: optional(oneOf('left', 'primary')) },
    (at) => [button(action, at)],
    ['x', 'y', 'button'],
  );

const VERBS: Verbs = {
  'pyautogui.click': click,
  'pyautogui.leftClick': click,
  'pyautogui.doubleClick': at('double_click'),
  'pyautogui.tripleClick': at('triple_click'),
  'pyautogui.rightClick': at('right_click'),
  'pyautogui.middleClick': at('middle_click'),
  'pyautogui.moveTo': verb(XY, (place) => [{ action: 'move', x: place.x, y: place.y }], [
    ...POSITIONAL,
    'duration',
  ]),
  // From the pointer position, which a preceding moveTo sets.
  'pyautogui.dragTo': verb(
    { ...XY, button: optional(oneOf('left', 'primary')), mouseDownUp: anything },
    (place) => [{ action: 'drag', from: HERE, to: [place.x, place.y] }],
    [...POSITIONAL, 'duration'],
  ),
  'pyautogui.write': write,
  'pyautogui.typewrite': write,
  'pyautogui.press': verb(
    { keys: sequence, presses: optional(integer(1, MAX_ACTIONS)), interval: anything },
    ({ keys, presses = 1 }) =>
      Array.from({ length: presses }).flatMap(() =>
        keys.map((key): Action => ({ action: 'key', keys: [key] })),
      ),
    ['keys', 'presses', 'interval'],
  ),
  'pyautogui.hotkey': verb(
    { key1: firstKeys, ...FURTHER, interval: anything },
    ({ key1, ...others }, _axes, call) => {
      const further = FURTHER_KEYS.flatMap(
        (name) => (others as Record<string, string | undefined>)[name] ?? [],
      );
      if (key1.isList && further.length > 0)
        throw new Rejection('unknown_key', call, 'pyautogui.hotkey has keys beside a list of keys.');
      return [{ action: 'key', keys: [...key1.keys, ...further] }];
    },
    ['key1', ...FURTHER_KEYS],
  ),
  'pyautogui.scroll': wheel('up', 'down'),
  'pyautogui.vscroll': wheel('up', 'down'),
  'pyautogui.hscroll': wheel('right', 'left'),
  'pyautogui.sleep': verb(
    { seconds: number(0, MAX_SECONDS) },
    ({ seconds }) => [{ action: 'wait', seconds }],
    ['seconds'],
  ),
  'time.sleep': verb({ seconds: number(0, MAX_SECONDS) }, ({ seconds }) => [{ action: 'wait', seconds }], [
    'seconds',
  ]),
  'pyautogui.keyDown': holdKey('key_down'),
  'pyautogui.keyUp': holdKey('key_up'),
  'pyautogui.mouseDown': holdButton('mouse_down'),
  'pyautogui.mouseUp': holdButton('mouse_up'),
  'pyautogui.dragRel': { unsupported: 'places are absolute' },
  'pyautogui.moveRel': { unsupported: 'places are absolute' },
};

/** OSWorld's special codes: the whole answer instead of Python code. */
const CODES: Readonly<Record<string, Action>> = {
  WAIT: { action: 'wait', seconds: 1 },
  DONE: { action: 'finish', success: true },
  FAIL: { action: 'finish', success: false },
};

const STATEMENT = /^[ \t]*(?:import |from |#|pyautogui\.|time\.|(?:WAIT|DONE|FAIL)\b)/m;

const FENCE = /```(?:python|py|code)?[ \t]*\r?\n?/y;

/** Code in the first fence, else from the first line of code on; preceding text is the model's reasoning. */
function read(answer: string): Part[] {
  const fence = fenceOf(answer);
  const first = fence === null ? STATEMENT.exec(answer)?.index : fence.index + fence[0].length;
  if (first === undefined)
    throw new Rejection('no_action', { start: 0, end: answer.length }, 'There is no code in the answer.');
  const closing = fence === null ? -1 : answer.indexOf('\n```', first);
  const code = closing < 0 ? withoutFence(answer) : answer.slice(0, closing);
  const parts = statements(code, first);
  if (closing >= 0) refuseTrailing(answer, closing, true);
  return parts;
}

/**
 * The first fence. A fence after code on the same line is part of a text, or closes a fence that was never opened.
 */
function fenceOf(answer: string): RegExpExecArray | null {
  let at = answer.indexOf('```');
  while (at >= 0) {
    FENCE.lastIndex = at;
    if (!STATEMENT.test(answer.slice(answer.lastIndexOf('\n', at) + 1, at))) return FENCE.exec(answer);
    const next = answer.indexOf('\n', at);
    at = next < 0 ? -1 : answer.indexOf('```', next);
  }
  return null;
}

function withoutFence(answer: string): string {
  const end = answer.trimEnd();
  return end.endsWith('```') ? end.slice(0, -3) : end;
}

function statements(code: string, start: number): Part[] {
  const parts: Part[] = [];
  const reader = new FunctionReader(code, start);
  const skip = () => reader.match(/(?:[\s;]+|#[^\n]*|(?:import|from) [^\n;]*)*/y);
  for (skip(); !reader.isAtEnd; skip()) {
    const from = reader.at;
    const word = reader.match(/(?:WAIT|DONE|FAIL)\b/y);
    if (word !== null) parts.push({ actions: [CODES[word]], start: from, end: reader.at });
    else parts.push(statement(reader));
  }
  return parts;
}

function statement(reader: FunctionReader): Call {
  const call = reader.call();
  if (!reader.isAtEnd && reader.match(/[ \t]*(?=[\n\r;#]|$)/y) === null)
    throw reader.unexpected('the end of a statement');
  return call;
}

const NAMES = {
  click: 'click',
  double_click: 'doubleClick',
  triple_click: 'tripleClick',
  right_click: 'rightClick',
  middle_click: 'middleClick',
  move: 'moveTo',
  key_down: 'keyDown',
  key_up: 'keyUp',
  mouse_down: 'mouseDown',
  mouse_up: 'mouseUp',
} as const;

function callsOf(action: Action, pen: Pen): string[] | undefined {
  switch (action.action) {
    case 'click':
    case 'double_click':
    case 'triple_click':
    case 'right_click':
    case 'middle_click':
    case 'move':
      return [`pyautogui.${NAMES[action.action]}(${pen.x(action.x)}, ${pen.y(action.y)})`];
    case 'drag':
    case 'swipe':
      if (!('from' in action)) return undefined;
      return [
        `pyautogui.moveTo(${pen.point(action.from).join(', ')})`,
        `pyautogui.dragTo(${pen.point(action.to).join(', ')}, duration=0.5)`,
      ];
    case 'scroll': {
      const { direction, amount, x: across, y: down } = action;
      const name = direction === 'up' || direction === 'down' ? 'scroll' : 'hscroll';
      const clicks = direction === 'up' || direction === 'right' ? amount : -amount;
      const place = across === undefined ? '' : `, x=${pen.x(across)}, y=${pen.y(down!)}`;
      return [`pyautogui.${name}(${clicks}${place})`];
    }
    case 'type':
      return [`pyautogui.write(${pythonString(action.text)})`];
    case 'key': {
      const names = action.keys.map(nameOf).map(pythonString).join(', ');
      return [`pyautogui.${action.keys.length === 1 ? 'press' : 'hotkey'}(${names})`];
    }
    case 'key_down':
    case 'key_up':
      return [`pyautogui.${NAMES[action.action]}(${pythonString(nameOf(action.key))})`];
    case 'mouse_down':
    case 'mouse_up': {
      const place = action.x === undefined ? '' : `${pen.x(action.x)}, ${pen.y(action.y!)}`;
      return [`pyautogui.${NAMES[action.action]}(${place})`];
    }
    case 'wait':
      return [`time.sleep(${action.seconds})`];
    case 'finish':
      return [action.success ? 'DONE' : 'FAIL'];
    default:
      return undefined;
  }
}

/** pyautogui's name of a key. */
function nameOf(key: string): string {
  const names: Record<string, string> = {
    page_up: 'pageup',
    page_down: 'pagedown',
    caps_lock: 'capslock',
    meta: 'win',
  };
  return names[key] ?? key;
}

const PARTS: DialectParts = {
  name: 'pyautogui',
  read,
  verbs: VERBS,
  merge: (actions) => dragsFrom('pyautogui.moveTo', actions),
  write: callsOf,
  join: (calls) => calls.join('\n'),
  form: 'Answer with lines of Python that call pyautogui, or with a word below.',
};

/**
 * Python code for `pyautogui`, as OSWorld's agents answer; it is parsed, never executed. Source:
 * pyautogui.readthedocs.io, github.com/xlang-ai/OSWorld, mm_agents/prompts.py.
 */
export const pyautogui = dialectOf(PARTS);
