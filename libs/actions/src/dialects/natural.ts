import { BUTTONS, DIRECTIONS, modifiersOf, type Action, type WindowAction } from '../action';
import { verb, type Call, type Verb, type Verbs } from '../calls/call';
import { dialectOf, type DialectParts } from '../calls/make-dialect';
import type { Pen } from '../calls/pen';
import {
  chord,
  held,
  integer,
  modifiers,
  number,
  oneKey,
  oneOf,
  optional,
  text,
  x,
  y,
} from '../calls/params';
import { Rejection, shorten } from '../calls/rejection';
import { button, drag, scroll } from '../calls/scrolls';
import { readJson, type Entry, type JsonNode } from '../json-reader';
import { joinKeys } from '../keys';
import { MAX_COORDINATE, MAX_SCROLL_AMOUNT, MAX_SECONDS, MAX_WINDOW } from '../schema';

const WORD = String.raw`(\w+)`;
const NUMBER = String.raw`(-?\d+(?:\.\d+)?)`;
const PLACE = String.raw`\(?${NUMBER}\s*,\s*${NUMBER}\)?`;
const QUOTED = String.raw`("(?:[^"\\]|\\.)*")`;
/** Keys held during an action. */
const HOLDING = `(?: holding ${QUOTED})?`;

interface Sentence extends Verb {
  pattern: RegExp;
}

/** A sentence whose groups are the arguments, in the order of their names. */
function sentence(pattern: string, names: readonly string[], { params, read }: Verb): Sentence {
  return { pattern: new RegExp(`^${pattern}$`, 'id'), positional: names, params, read };
}

const AT = { x: optional(x), y: optional(y) };
const placed = (at: { x?: number; y?: number }) =>
  at.x === undefined || at.y === undefined ? {} : { x: at.x, y: at.y };

type Clicks = 'click' | 'double_click' | 'triple_click' | 'right_click' | 'middle_click' | 'move';
const pointed = (words: string, action: Clicks): Sentence =>
  sentence(
    String.raw`${words} (?:at |to |on )?${PLACE}${HOLDING}`,
    ['x', 'y', 'modifiers'],
    verb({ x, y, modifiers }, (at) => [{ action, x: at.x, y: at.y, ...held(at.modifiers) }]),
  );

const ENDS = { x, y, to_x: x, to_y: y };

const finished = (words: string, success: boolean): Sentence =>
  sentence(
    `${words}(?:: ${QUOTED})?`,
    ['message'],
    verb({ message: optional(text) }, ({ message }) => [
      { action: 'finish', success, ...(message === undefined ? {} : { message }) },
    ]),
  );

const SENTENCES: Readonly<Record<string, Sentence>> = {
  click: pointed('(?:left[- ])?click', 'click'),
  double_click: pointed('double[- ]click', 'double_click'),
  triple_click: pointed('triple[- ]click', 'triple_click'),
  right_click: pointed('right[- ]click', 'right_click'),
  middle_click: pointed('middle[- ]click', 'middle_click'),
  move: pointed('move(?: the pointer)?', 'move'),
  long_press: sentence(
    `(?:long[- ]press|hold)(?: at)? ${PLACE}(?: for ${NUMBER} seconds?)?`,
    ['x', 'y', 'seconds'],
    verb({ x, y, seconds: optional(number(0, MAX_SECONDS)) }, ({ seconds, ...at }) => [
      { action: 'long_press', x: at.x, y: at.y, ...(seconds === undefined ? {} : { seconds }) },
    ]),
  ),
  type: sentence(
    `type ${QUOTED}`,
    ['text'],
    verb({ text }, (typed) => [{ action: 'type', text: typed.text }]),
  ),
  press: sentence(
    `press ${QUOTED}(?: for ${NUMBER} seconds?)?`,
    ['keys', 'seconds'],
    verb({ keys: chord, seconds: optional(number(0, MAX_SECONDS)) }, ({ keys, seconds: time }) => [
      { action: 'key', keys, ...(time === undefined ? {} : { seconds: time }) },
    ]),
  ),
  key_down: sentence(
    `hold down ${QUOTED}`,
    ['key'],
    verb({ key: oneKey }, ({ key }) => [{ action: 'key_down', key }]),
  ),
  key_up: sentence(
    `release ${QUOTED}`,
    ['key'],
    verb({ key: oneKey }, ({ key }) => [{ action: 'key_up', key }]),
  ),
  mouse_down: sentence(
    `hold down the mouse button(?: at ${PLACE})?`,
    ['x', 'y'],
    verb(AT, (at) => [button('mouse_down', at)]),
  ),
  mouse_up: sentence(
    `release the mouse button(?: at ${PLACE})?`,
    ['x', 'y'],
    verb(AT, (at) => [button('mouse_up', at)]),
  ),
  scroll: sentence(
    `scroll ${WORD} (?:by )?${NUMBER} notch(?:es)?(?: at ${PLACE})?${HOLDING}`,
    ['direction', 'amount', 'x', 'y', 'modifiers'],
    verb(
      { direction: oneOf(...DIRECTIONS), amount: integer(1, MAX_SCROLL_AMOUNT), ...AT, modifiers },
      ({ direction, amount, modifiers: keys, ...at }) => [scroll(direction, amount, at, keys)],
    ),
  ),
  drag: sentence(
    `drag from ${PLACE} to ${PLACE}${HOLDING}`,
    [...Object.keys(ENDS), 'modifiers'],
    verb({ ...ENDS, modifiers }, (ends) => [drag([ends.x, ends.y], [ends.to_x, ends.to_y], ends.modifiers)]),
  ),
  swipe: sentence(
    `swipe from ${PLACE} to ${PLACE}`,
    Object.keys(ENDS),
    verb(ENDS, (ends) => [{ action: 'swipe', from: [ends.x, ends.y], to: [ends.to_x, ends.to_y] }]),
  ),
  swipe_direction: sentence(
    `swipe ${WORD}(?: by ${NUMBER} pixels?)?(?: from ${PLACE})?`,
    ['direction', 'distance', 'x', 'y'],
    verb(
      { direction: oneOf(...DIRECTIONS), distance: optional(integer(1, MAX_COORDINATE)), ...AT },
      ({ direction, distance, ...at }) => [
        { action: 'swipe', direction, ...(distance === undefined ? {} : { distance }), ...placed(at) },
      ],
    ),
  ),
  button: sentence(
    `press the ${WORD} button`,
    ['button'],
    verb({ button: oneOf(...BUTTONS) }, ({ button }) => [{ action: 'button', button }]),
  ),
  new_window: sentence(
    'open a new window',
    [],
    verb({}, () => [{ action: 'window', change: 'new' }]),
  ),
  close_window: sentence(
    'close the window',
    [],
    verb({}, () => [{ action: 'window', change: 'close' }]),
  ),
  turn_window: sentence(
    `show the ${WORD} window`,
    ['change'],
    verb({ change: oneOf('next', 'previous') }, ({ change }) => [{ action: 'window', change }]),
  ),
  show_window: sentence(
    `show window ${NUMBER}`,
    ['number'],
    verb({ number: integer(1, MAX_WINDOW) }, (window) => [{ action: 'window', number: window.number }]),
  ),
  zoom: sentence(
    `zoom from ${PLACE} to ${PLACE}`,
    Object.keys(ENDS),
    verb(ENDS, (ends) => [{ action: 'zoom', from: [ends.x, ends.y], to: [ends.to_x, ends.to_y] }]),
  ),
  wait: sentence(
    `wait (?:for )?${NUMBER} seconds?`,
    ['seconds'],
    verb({ seconds: number(0, MAX_SECONDS) }, ({ seconds }) => [{ action: 'wait', seconds }]),
  ),
  finish: finished('the task is done', true),
  give_up: finished('the task cannot be done', false),
};

/** The sentences at the end of an answer, one per line; preceding text is the model's reasoning. */
function read(answer: string): Call[] {
  const calls: Call[] = [];
  let at = 0;
  for (const line of answer.split('\n')) {
    const call = callOf(answer, at, at + line.length);
    if (call !== null) calls.push(call);
    else if (calls.length > 0 && /\S/.test(line))
      throw new Rejection(
        'trailing_text',
        { start: at, end: answer.length },
        'There is text behind the action.',
      );
    at += line.length + 1;
  }
  if (calls.length > 0) return calls;
  const place = { start: 0, end: answer.length };
  throw new Rejection(
    'no_action',
    place,
    `There is no sentence that says an action with its place: ${shorten(answer)}`,
  );
}

/** The call of a line, or null; `Action:`, a number or a dash may precede it. */
function callOf(answer: string, from: number, to: number): Call | null {
  const line = answer.slice(from, to);
  const start = from + /^\s*(?:action:\s*)?(?:[-*]\s+|\d+[.)]\s+)?/i.exec(line)![0].length;
  let end = to;
  while (end > start && /[.\s]/.test(answer[end - 1])) end -= 1;
  if (end <= start) return null;
  const said = answer.slice(start, end);
  for (const [name, { pattern, positional }] of Object.entries(SENTENCES)) {
    const found = pattern.exec(said);
    if (found === null) continue;
    const args = positional.flatMap((key, index): Entry[] => {
      const place = found.indices?.[index + 1];
      return place === undefined ? [] : [entryOf(answer, key, start + place[0], start + place[1])];
    });
    return { name, at: { start, end }, args, start, end };
  }
  return null;
}

/** A group as a value: quoted, a number, or a word. */
function entryOf(answer: string, key: string, start: number, end: number): Entry {
  const written = answer.slice(start, end);
  return { key, start, end, node: valueOf(answer, written, start, end) };
}

function valueOf(answer: string, written: string, start: number, end: number): JsonNode {
  if (!written.startsWith('"')) {
    const isNumber = /^-?\d/.test(written);
    return isNumber
      ? { type: 'number', value: Number(written) + 0, start, end }
      : { type: 'string', value: written.toLowerCase(), start, end };
  }
  const read = readJson(answer, start);
  if (read.ok) return read.node;
  throw new Rejection('malformed', read, `The text ${read.message}.`);
}

const VERBS: Verbs = SENTENCES;

const WORDS: Readonly<Record<Clicks, string>> = {
  click: 'Click at',
  double_click: 'Double-click at',
  triple_click: 'Triple-click at',
  right_click: 'Right-click at',
  middle_click: 'Middle-click at',
  move: 'Move the pointer to',
};

function write(action: Action, pen: Pen): string {
  const place = (at: readonly [number, number]) => `(${pen.point(at).join(', ')})`;
  const maybe = (words: string, at: { x?: number; y?: number }) =>
    at.x === undefined || at.y === undefined ? '' : ` ${words} ${place([at.x, at.y])}`;
  const keys = modifiersOf(action);
  const holding = keys.length === 0 ? '' : ` holding ${JSON.stringify(keys.join('+'))}`;
  switch (action.action) {
    case 'long_press': {
      const time = action.seconds === undefined ? '' : ` for ${seconds(action.seconds)}`;
      return `Long-press at ${place([action.x, action.y])}${time}.`;
    }
    case 'type':
      return `Type ${JSON.stringify(action.text)}.`;
    case 'key':
      return `Press ${JSON.stringify(joinKeys(action.keys))}${action.seconds === undefined ? '' : ` for ${seconds(action.seconds)}`}.`;
    case 'key_down':
      return `Hold down ${JSON.stringify(action.key)}.`;
    case 'key_up':
      return `Release ${JSON.stringify(action.key)}.`;
    case 'mouse_down':
      return `Hold down the mouse button${maybe('at', action)}.`;
    case 'mouse_up':
      return `Release the mouse button${maybe('at', action)}.`;
    case 'scroll': {
      const notches = action.amount === 1 ? 'notch' : 'notches';
      return `Scroll ${action.direction} ${action.amount} ${notches}${maybe('at', action)}${holding}.`;
    }
    case 'drag':
      return `Drag from ${place(action.from)} to ${place(action.to)}${holding}.`;
    case 'swipe': {
      if ('from' in action) return `Swipe from ${place(action.from)} to ${place(action.to)}.`;
      const far = action.distance === undefined ? '' : ` by ${action.distance} pixels`;
      return `Swipe ${action.direction}${far}${maybe('from', action)}.`;
    }
    case 'button':
      return `Press the ${action.button} button.`;
    case 'window':
      return windowSentence(action);
    case 'zoom':
      return `Zoom from ${place(action.from)} to ${place(action.to)}.`;
    case 'wait':
      return `Wait ${seconds(action.seconds)}.`;
    case 'finish': {
      const said = action.message === undefined ? '' : `: ${JSON.stringify(action.message)}`;
      return `The task ${action.success ? 'is' : 'cannot be'} done${said}.`;
    }
    default:
      return `${WORDS[action.action]} ${place([action.x, action.y])}${holding}.`;
  }
}

function windowSentence(action: WindowAction): string {
  if ('number' in action) return `Show window ${action.number}.`;
  const { change } = action;
  if (change === 'new') return 'Open a new window.';
  return change === 'close' ? 'Close the window.' : `Show the ${change} window.`;
}

function seconds(time: number): string {
  return `${decimal(time)} ${time === 1 ? 'second' : 'seconds'}`;
}

/** Without an exponent. */
function decimal(value: number): string {
  return String(value).includes('e') ? value.toFixed(20) : String(value);
}

const PARTS: DialectParts = {
  name: 'natural',
  read,
  verbs: VERBS,
  refinements: ['modifiers', 'seconds'],
  write: (action, pen) => [write(action, pen)],
  join: (sentences) => sentences.join('\n'),
  form: 'Answer with a sentence that says the action, one in each line.',
};

/** Sentences: `Click at (83, 41).`, one per line. */
export const natural = dialectOf(PARTS);
