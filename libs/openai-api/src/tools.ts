import { randomUUID } from 'node:crypto';
import { readBehindThoughts } from '@ui-rl/actions';
import type { ToolCall } from '@ui-rl/contracts';
import { invalid, unsupported } from './errors';
import { isDeeper, isObject, MAX_DEPTH, type Fields } from './fields';

export const MAX_TOOLS = 128;
const OPEN = '<tool_call>';
const CLOSE = '</tool_call>';
/** Tags that may stand before something that is no call, so that an answer of nothing but tags takes no time that grows with its square. */
const MAX_UNREADABLE = 16;

/** A function that the model may call. */
export interface FunctionTool {
  name: string;
  description: string | null;
  parameters: object | null;
  strict: boolean | null;
}

/** A call that the model has written. */
export interface FunctionCall {
  callId: string;
  name: string;
  /** JSON. */
  arguments: string;
}

interface PlacedCall {
  call: Pick<FunctionCall, 'name' | 'arguments'>;
  /** Of the call with its tags. */
  start: number;
  end: number;
}

/** The fields of a function, in whichever object they stand. */
export function readFunction(fields: Fields): FunctionTool {
  const name = fields.requiredText('name');
  if (!/^[A-Za-z0-9_.-]{1,128}$/.test(name)) {
    throw invalid(fields.at('name'), 'expected letters, digits and _ . - (at most 128)');
  }
  const parameters = fields.raw('parameters');
  if (parameters !== undefined && !isObject(parameters))
    throw invalid(fields.at('parameters'), 'expected a JSON schema');
  const description = fields.text('description') ?? null;
  const strict = fields.boolean('strict') ?? null;
  if (strict === true) throw unsupported(fields.at('strict'), 'answers are not held to a schema');
  fields.end();
  return { name, description, parameters: parameters ?? null, strict };
}

/** As chat templates take tools. */
export function templateTool({ name, description, parameters }: FunctionTool): object {
  return {
    type: 'function',
    function: {
      name,
      ...(description === null ? {} : { description }),
      parameters: parameters ?? { type: 'object', properties: {} },
    },
  };
}

/** The `arguments` of a call in the history: JSON in a text, as in OpenAI's API, or an object. */
export function readArguments(fields: Fields): ToolCall['function']['arguments'] {
  const value = fields.raw('arguments');
  return isObject(value) ? value : (fields.text('arguments') ?? '');
}

/** A call of an earlier answer, as chat templates take it: arguments as an object, or as the text they are where that holds none. */
export function templateCall(name: string, given: ToolCall['function']['arguments']): ToolCall {
  const read = typeof given === 'string' ? (argumentsIn(given) ?? given) : given;
  return { type: 'function', function: { name, arguments: read } };
}

/**
 * What an answer calls, in the form in which most chat templates show it to models (`<tool_call>` around JSON with `name` and
 * `arguments`), and the text besides. Thoughts are text, whatever calls are drafted in them, and so is what cannot be read; thoughts
 * that are cut off call nothing. Calls beyond the first `most` are left out.
 */
export function readCalls(answer: string, most = Infinity): { text: string; calls: FunctionCall[] } {
  const { value: found, isCutOff } = readBehindThoughts(answer, (start) => {
    const parts = callsFrom(answer, start);
    return { value: parts, parts };
  });
  if (isCutOff || found.length === 0) return { text: answer, calls: [] };
  const calls = found.slice(0, most).map(({ call }) => ({ callId: newId('call'), ...call }));
  return { text: besides(answer, found).trim(), calls };
}

/** Whether tools may be called: neither names one nor demands one, which nothing here could keep. */
export function mayCall(fields: Fields): boolean {
  const choice = fields.raw('tool_choice') ?? 'auto';
  if (choice === 'auto' || choice === 'none') return choice === 'auto';
  throw unsupported(
    fields.at('tool_choice'),
    'only "auto" and "none" can be given: no answer is forced into a call',
  );
}

/** Calls that an answer may have: one where the caller wants no parallel ones. */
export function mostCalls(fields: Fields): number {
  return (fields.boolean('parallel_tool_calls') ?? true) ? Infinity : 1;
}

/** `chatcmpl-0f…`. */
export function newId(kind: string): string {
  return `${kind}${kind === 'chatcmpl' || kind === 'cmpl' ? '-' : '_'}${randomUUID().replaceAll('-', '')}`;
}

/** The object that is written in a text: without entries where the text is empty or null; undefined where it holds something else. */
function argumentsIn(json: string): Record<string, unknown> | undefined {
  if (['', 'null'].includes(json.trim())) return {};
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value) && !isDeeper(value, MAX_DEPTH) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The calls behind an offset. */
function callsFrom(answer: string, start: number): PlacedCall[] {
  const found: PlacedCall[] = [];
  let unreadable = 0;
  for (let tag = answer.indexOf(OPEN, start); tag >= 0 && unreadable < MAX_UNREADABLE;) {
    const call = callAt(answer, tag);
    if (call === undefined) unreadable += 1;
    else found.push(call);
    tag = answer.indexOf(OPEN, call?.end ?? tag + OPEN.length);
  }
  return found;
}

/** @param start of the tag */
function callAt(answer: string, start: number): PlacedCall | undefined {
  const from = behindSpace(answer, start + OPEN.length);
  const to = endOfObject(answer, from);
  if (to === undefined) return undefined;
  const close = behindSpace(answer, to);
  // The last one may be left open.
  const isClosed = close === answer.length || answer.startsWith(CLOSE, close);
  const call = isClosed ? callIn(answer.slice(from, to)) : undefined;
  return call && { call, start, end: Math.min(close + CLOSE.length, answer.length) };
}

function callIn(json: string): PlacedCall['call'] | undefined {
  const { name, arguments: given } = argumentsIn(json) ?? {};
  if (typeof name !== 'string') return undefined;
  const read = typeof (given ?? '') === 'string' ? argumentsIn((given ?? '') as string) : given;
  return isObject(read) ? { name, arguments: JSON.stringify(read) } : undefined;
}

function behindSpace(text: string, start: number): number {
  let at = start;
  while (/\s/.test(text.charAt(at))) at += 1;
  return at;
}

/** Behind the brace that closes the one at `start`; braces within texts are none. */
function endOfObject(text: string, start: number): number | undefined {
  if (text[start] !== '{') return undefined;
  let depth = 0;
  let inText = false;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (inText) {
      if (character === '\\') at += 1;
      else if (character === '"') inText = false;
    } else if (character === '"') inText = true;
    else if (character === '{') depth += 1;
    else if (character === '}' && --depth === 0) return at + 1;
  }
  return undefined;
}

/** The text without its calls. */
function besides(answer: string, calls: readonly PlacedCall[]): string {
  const starts = [0, ...calls.map(({ end }) => end)];
  return starts.map((start, index) => answer.slice(start, calls[index]?.start)).join('');
}
