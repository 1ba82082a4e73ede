import { REFINEMENTS } from '../action';
import type { Call } from '../calls/call';
import { dialectOf, type DialectParts } from '../calls/make-dialect';
import { plainCall, PLAIN_VERBS } from '../calls/plain-verbs';
import { quote, Rejection } from '../calls/rejection';
import { readJson, type Entry } from '../json-reader';

const VALUE = /^(?:"|\[["[]|-?\d|(?:true|false|null)\b)/;
const NAME = /^[a-z_]+[.;]?$/;

/** A line of values followed by a name: `83 41 left_click`. */
function isAction(line: string): boolean {
  const said = line.trim();
  const [, name] = /\s(\S+)$/.exec(said) ?? [];
  return name !== undefined && VALUE.test(said) && NAME.test(name);
}

/** The lines at the end that are actions; preceding text is the model's reasoning. */
function read(answer: string): Call[] {
  const calls: Call[] = [];
  let start = 0;
  for (const line of answer.split('\n')) {
    if (isAction(line)) calls.push(callOf(answer, start, start + line.length));
    else if (calls.length > 0 && /[^\s`]/.test(line))
      throw new Rejection('trailing_text', { start, end: answer.length }, 'There is text behind the action.');
    start += line.length + 1;
  }
  if (calls.length > 0) return calls;
  throw new Rejection('no_action', { start: 0, end: answer.length }, 'There is no action in the answer.');
}

function callOf(answer: string, start: number, end: number): Call {
  const line = answer.slice(0, end);
  const args: Entry[] = [];
  let at = start;
  for (;;) {
    at += /^\s*/.exec(line.slice(at))![0].length;
    const name = /^([a-z_]+)[.;]?\s*$/.exec(line.slice(at))?.[1];
    if (name !== undefined && !['true', 'false', 'null'].includes(name))
      return { name, at: { start: at, end: at + name.length }, args, start, end };
    const value = readJson(line, at);
    if (!value.ok) throw new Rejection('malformed', value, `${quote(line.slice(start))} ${value.message}.`);
    const { node } = value;
    args.push({ key: String(args.length), start: node.start, end: node.end, node });
    at = node.end;
  }
}

const PARTS: DialectParts = {
  name: 'coordinates',
  read,
  verbs: PLAIN_VERBS,
  refinements: REFINEMENTS,
  write(action, pen) {
    const call = plainCall(action, pen);
    if (call === undefined) return undefined;
    // A name alone would be a word of the reasoning.
    const values = call[1].length === 0 ? [null] : call[1];
    return [[...values.map((value) => JSON.stringify(value)), call[0]].join(' ')];
  },
  join: (calls) => calls.join('\n'),
  form: 'Answer with a place and the action there, one in each line.',
};

/** Coordinates first: `83 41 left_click`, one action per line. */
export const coordinates = dialectOf(PARTS);
