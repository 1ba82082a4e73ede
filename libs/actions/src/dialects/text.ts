import { REFINEMENTS } from '../action';
import type { Call } from '../calls/call';
import { FunctionReader, freeTexts } from '../calls/function-reader';
import { pythonString } from '../calls/python-strings';
import { refuseTrailing } from '../calls/json-answer';
import { dialectOf, type DialectParts } from '../calls/make-dialect';
import { plainCall, PLAIN_VERBS } from '../calls/plain-verbs';
import { Rejection } from '../calls/rejection';

const NAMES = Object.keys(PLAIN_VERBS).join('|');
/** Reasoning may contain words that are names of functions, but not as calls. */
const FIRST = new RegExp(String.raw`(?<![\w.])(?:${NAMES})\s*\(`);

const FREE_TEXTS = freeTexts({ type: ['0', 'text'], finish: ['1', 'message'] }, Object.keys(PLAIN_VERBS));

function read(answer: string): Call[] {
  const start = FIRST.exec(answer)?.index ?? /(?<![\w.])[a-z_]+\(/.exec(answer)?.index;
  if (start === undefined)
    throw new Rejection('no_action', { start: 0, end: answer.length }, 'There is no action in the answer.');
  const reader = new FunctionReader(answer, start, FREE_TEXTS);
  const calls: Call[] = [];
  do {
    calls.push(reader.call());
    reader.match(/[\s;]*/y);
  } while (/^[a-z_]+\s*\(/.test(answer.slice(reader.at, reader.at + 40)));
  refuseTrailing(answer, reader.at, answer.slice(0, start).includes('```'));
  return calls;
}

const PARTS: DialectParts = {
  name: 'text',
  read,
  verbs: PLAIN_VERBS,
  refinements: REFINEMENTS,
  write(action, pen) {
    const call = plainCall(action, pen);
    return call && [`${call[0]}(${call[1].map(argument).join(',')})`];
  },
  join: (calls) => calls.join('\n'),
  form: 'Answer with the action as a function, one in each line.',
};

function argument(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(argument).join(',')}]`;
  return typeof value === 'string' ? pythonString(value) : JSON.stringify(value);
}

/** Actions as functions: `left_click(83,41)`, one per line. */
export const text = dialectOf(PARTS);
