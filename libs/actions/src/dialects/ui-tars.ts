import { DIRECTIONS, type Action, type Point } from '../action';
import { verb, type Call, type Verb, type Verbs } from '../calls/call';
import { FunctionReader, freeTexts } from '../calls/function-reader';
import { pythonString } from '../calls/python-strings';
import { dialectOf, type DialectParts } from '../calls/make-dialect';
import type { Pen } from '../calls/pen';
import { number, oneKey, oneOf, optional, spacedChord, text, type Param } from '../calls/params';
import { Rejection } from '../calls/rejection';
import { refuseTrailing } from '../calls/json-answer';
import { placeOf, scroll } from '../calls/scrolls';
import { MAX_SECONDS } from '../schema';

/** Defaults of the original's client for unspecified quantities. */
const [NOTCHES, WAIT_SECONDS] = [5, 5];

/** `<point>x y</point>`, `<|box_start|>(x,y)<|box_end|>`, `(x,y)`, `[x1, y1, x2, y2]` (its centre). */
const PLACE =
  /^\s*(?:<point>|<bbox>|<\|box_start\|>)?\s*[([]?\s*([\d.,\s]+?)\s*[)\]]?\s*(?:<\/point>|<\/bbox>|<\|box_end\|>)?\s*$/;
/** Maximum length in characters, because the pattern takes superlinear time. */
const MOST_OF_PLACE = 100;
const NUMBER = /^\d+(?:\.\d+)?$/;

const box: Param<Point> = {
  optional: false,
  read(value) {
    const expected = `a place such as '<point>x y</point>'`;
    if (value.node.type !== 'string') throw value.rejected('wrong_type', expected);
    const written = value.node.value.length > MOST_OF_PLACE ? '' : value.node.value;
    const numbers = PLACE.exec(written)?.[1].split(/[\s,]+/) ?? [];
    const isPlace =
      (numbers.length === 2 || numbers.length === 4) && numbers.every((each) => NUMBER.test(each));
    if (!isPlace) throw value.rejected('wrong_type', expected);
    const found = numbers.map(Number);
    const centre = found.length === 2 ? found : [(found[0] + found[2]) / 2, (found[1] + found[3]) / 2];
    const { x, y } = value.axes;
    if (centre[0] > x.max || centre[1] > y.max)
      throw value.rejected('out_of_range', `on the screen, x to ${x.max} and y to ${y.max}`);
    return [x.read(centre[0]), y.read(centre[1])];
  },
};

/** Seconds, as a number or numeric text; an empty text counts as not given. */
const seconds: Param<number | undefined> = {
  optional: true,
  read(value) {
    const { node } = value;
    if (node.type !== 'string') return WAITED.read(value);
    const written = node.value.trim();
    if (written === '') return undefined;
    if (!/^[\d.e+-]+$/i.test(written) || Number.isNaN(Number(written)))
      throw value.rejected('wrong_type', 'seconds, such as 2');
    return WAITED.read(
      value.part({ type: 'number', value: Number(written), start: node.start, end: node.end }),
    );
  },
};
const WAITED = number(0, MAX_SECONDS);

const at = (action: 'click' | 'double_click' | 'right_click'): Verb =>
  verb({ start_box: box }, ({ start_box: [x, y] }) => [{ action, x, y }], ['start_box']);

const drag = verb({ start_box: box, end_box: box }, ({ start_box: from, end_box: to }) => [
  { action: 'drag', from, to },
]);

const pressed = verb({ key: spacedChord }, ({ key }) => [{ action: 'key', keys: key }], ['key']);

const holdKey = (action: 'key_down' | 'key_up'): Verb =>
  verb({ key: oneKey }, ({ key }) => [{ action, key }], ['key']);
const NO_APPS = { unsupported: 'apps are opened by their icons' };

const VERBS: Verbs = {
  click: at('click'),
  left_single: at('click'),
  left_double: at('double_click'),
  right_single: at('right_click'),
  hover: { unsupported: 'the pointer moves with a click' },
  long_press: verb(
    { start_box: box, time: seconds },
    ({ start_box: [x, y], time }) => [
      { action: 'long_press', x, y, ...(time === undefined ? {} : { seconds: time }) },
    ],
    ['start_box', 'time'],
  ),
  drag: drag,
  select: drag,
  hotkey: pressed,
  press: pressed,
  keydown: holdKey('key_down'),
  keyup: holdKey('key_up'),
  release: holdKey('key_up'),
  type: verb({ content: text }, ({ content }) => [{ action: 'type', text: content }], ['content']),
  scroll: verb(
    { start_box: optional(box), end_box: optional(box), direction: optional(oneOf(...DIRECTIONS)) },
    ({ start_box: from, end_box: to, direction }, { x, y }, call) => {
      if (from !== undefined && to !== undefined) return [{ action: 'drag', from, to }];
      if (to === undefined && direction !== undefined) {
        // Without a position, at the centre, which is written out.
        const at = from ?? [Math.floor(x.pixels / 2), Math.floor(y.pixels / 2)];
        return [scroll(direction, NOTCHES, { x: at[0], y: at[1] })];
      }
      throw new Rejection('missing_key', call, 'scroll needs "direction", or "start_box" and "end_box".');
    },
  ),
  wait: verb({}, () => [{ action: 'wait', seconds: WAIT_SECONDS }]),
  press_home: verb({}, () => [{ action: 'button', button: 'home' }]),
  press_back: verb({}, () => [{ action: 'button', button: 'back' }]),
  finished: verb(
    { content: optional(text) },
    ({ content = '' }) => [
      { action: 'finish', success: true, ...(content === '' ? {} : { message: content }) },
    ],
    ['content'],
  ),
  call_user: verb({}, () => [{ action: 'finish', success: false }]),
  open_app: NO_APPS,
};

/** Both versions are accepted in both formats. */
const SAME: ReadonlyMap<string, string> = new Map([
  ['point', 'start_box'],
  ['start_point', 'start_box'],
  ['end_point', 'end_box'],
  ['hotkey', 'key'],
]);

/** Models sometimes do not escape the quotes in these, contrary to their prompt. */
const FREE_TEXTS = freeTexts({ type: ['0', 'content'], finished: ['0', 'content'] }, Object.keys(VERBS));

/** The calls after the last `Action:`; preceding text is the model's thought. */
function read(answer: string): Call[] {
  const marks = [...answer.matchAll(/(?:^|\n)[ \t]*Action:/g)];
  const mark = marks.at(-1);
  if (mark === undefined)
    throw new Rejection(
      'no_action',
      { start: 0, end: answer.length },
      'There is no "Action:" in the answer.',
    );
  const reader = new FunctionReader(answer, mark.index + mark[0].length, FREE_TEXTS);
  const calls: Call[] = [];
  reader.space();
  while (!reader.isAtEnd && (calls.length === 0 || /[A-Za-z]/.test(answer[reader.at]))) {
    if (calls.length > 0 && !/^\w+\s*\(/.test(answer.slice(reader.at, reader.at + 40))) break;
    const call = reader.call();
    calls.push({ ...call, args: call.args.map((arg) => ({ ...arg, key: SAME.get(arg.key) ?? arg.key })) });
    reader.space();
  }
  if (calls.length === 0)
    throw new Rejection(
      'no_action',
      { start: mark.index, end: answer.length },
      'There is nothing behind "Action:".',
    );
  refuseTrailing(answer, reader.at);
  return calls;
}

interface Version {
  /** Names of the arguments for points. */
  start: string;
  end: string;
  /** The only point of an action. */
  only: string;
  place: (point: [number, number]) => string;
  /** Whether `long_press` has a duration. */
  isTimed: boolean;
}

const V1: Version = {
  start: 'start_box',
  end: 'end_box',
  only: 'start_box',
  place: ([x, y]) => `'<|box_start|>(${x},${y})<|box_end|>'`,
  isTimed: true,
};
const V1_5: Version = {
  start: 'start_point',
  end: 'end_point',
  only: 'point',
  place: ([x, y]) => `'<point>${x} ${y}</point>'`,
  isTimed: false,
};

function writer(version: Version): DialectParts['write'] {
  return (action, pen) => {
    const written = callOf(action, pen, version);
    return written === undefined ? undefined : [written];
  };
}

const NAMES = { click: 'click', double_click: 'left_double', right_click: 'right_single' } as const;

function timeOf(time: number | undefined): string {
  return time === undefined ? '' : `, time='${time}'`;
}

function callOf(action: Action, pen: Pen, { start, end, only, place, isTimed }: Version): string | undefined {
  const placed = (name: string, to: { x: number; y: number }) =>
    `${name}(${only}=${place(pen.point([to.x, to.y]))}`;
  switch (action.action) {
    case 'click':
    case 'double_click':
    case 'right_click':
      return `${placed(NAMES[action.action], action)})`;
    case 'long_press':
      return `${placed('long_press', action)}${isTimed ? timeOf(action.seconds) : ''})`;
    case 'drag':
    case 'swipe':
      if (!('from' in action)) return undefined;
      return `drag(${start}=${place(pen.point(action.from))}, ${end}=${place(pen.point(action.to))})`;
    case 'key':
      return `hotkey(key=${pythonString(action.keys.map((key) => (key === '+' ? 'plus' : key)).join(' '))})`;
    case 'key_down':
    case 'key_up':
      return `${action.action.replace('_', '')}(key=${pythonString(action.key)})`;
    case 'type':
      return `type(content=${pythonString(action.text)})`;
    case 'scroll':
      return `${placed('scroll', placeOf(action, pen.screen))}, direction='${action.direction}')`;
    case 'wait':
      return 'wait()';
    case 'button':
      return ({ home: 'press_home()', back: 'press_back()' } as Record<string, string | undefined>)[
        action.button
      ];
    case 'finish':
      return action.success ? `finished(content=${pythonString(action.message ?? '')})` : 'call_user()';
    default:
      return undefined;
  }
}

function partsOf(name: string, version: Version): DialectParts {
  return {
    name,
    read,
    verbs: VERBS,
    write: writer(version),
    join: (calls) => `Action: ${calls.join('\n\n')}`,
    form: 'Answer with a line "Thought: …", which may be left out, and "Action: …"; further actions follow behind an empty line.',
  };
}

/** UI-TARS 1. Source: github.com/bytedance/UI-TARS, README_v1.md and codes/ui_tars. */
export const uiTars = dialectOf(partsOf('ui_tars', V1));

/** UI-TARS 1.5. Source: github.com/bytedance/UI-TARS, codes/ui_tars/prompt.py. */
export const uiTars15 = dialectOf(partsOf('ui_tars_1_5', V1_5));
