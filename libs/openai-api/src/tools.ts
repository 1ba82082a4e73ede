import { randomUUID } from 'node:crypto';
import { readBehindThoughts } from '@ui-rl/actions';
import type { ToolCall } from '@ui-rl/contracts';
import { invalid, unsupported } from './errors';
import { isDeeper, isObject, MAX_DEPTH, type Fields } from './fields';

export const MAX_TOOLS = 128;
const OPEN = '<tool_call>';
const CLOSE = '</tool_call>';
/** Why a required or named tool is refused. */
export const FORCED_CALL = 'only "auto" and "none" can be given: no answer is forced into a call';
/** Maximum number of unparsable tags, so that an answer that consists only of tags does not take quadratic time. */
const MAX_UNREADABLE = 16;

/** A function that the model may call. */
export interface FunctionTool {
  name: string;
  description: string | null;
  parameters: object | null;
  strict: boolean | null;
}

/** A call in the model's answer. */
export interface FunctionCall {
  callId: string;
  name: string;
  /** JSON. */
  arguments: string;
}

interface PlacedCall {
  call: Pick<FunctionCall, 'name' | 'arguments'>;
  /** Offset of the call including its tags. */
  start: number;
  end: number;
}

/**
 * The fields of a function, from any object that contains them.
 * @param schema name of the field with the parameters
 */
export function readFunction(fields: Fields, schema = 'parameters'): FunctionTool {
  const name = fields.requiredText('name');
  if (!/^[A-Za-z0-9_.-]{1,128}$/.test(name)) {
    throw invalid(fields.at('name'), 'expected letters, digits and _ . - (at most 128)');
  }
  const parameters = fields.raw(schema);
  if (parameters !== undefined && !isObject(parameters))
    throw invalid(fields.at(schema), 'expected a JSON schema');
  const description = fields.text('description') ?? null;
  const strict = fields.boolean('strict') ?? null;
  if (strict === true) throw unsupported(fields.at('strict'), 'answers are not held to a schema');
  fields.end();
  return { name, description, parameters: parameters ?? null, strict };
}

/** A tool in the form of chat templates. */
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

/** The `arguments` of a call in the history: JSON text, as in OpenAI's API, or an object. */
export function readArguments(fields: Fields): ToolCall['function']['arguments'] {
  const value = fields.raw('arguments');
  return isObject(value) ? value : (fields.text('arguments') ?? '');
}

/**
 * A call of an earlier answer in the form of chat templates: arguments as an object, or as the original text if it
 * does not contain one.
 */
export function templateCall(name: string, given: ToolCall['function']['arguments']): ToolCall {
  const read = typeof given === 'string' ? (argumentsIn(given) ?? given) : given;
  return { type: 'function', function: { name, arguments: read } };
}

/**
 * Parses calls in the form that most chat templates show to models (`<tool_call>` around JSON with `name` and
 * `arguments`), and returns the remaining text. Thoughts are text, even if they draft calls, and so are unparsable
 * calls; truncated thoughts contain no calls. Drops calls beyond the first `most`.
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

/** Whether tools may be called. Rejects a required or named tool, which cannot be guaranteed. */
export function mayCall(fields: Fields): boolean {
  const choice = fields.raw('tool_choice') ?? 'auto';
  if (choice === 'auto' || choice === 'none') return choice === 'auto';
  throw unsupported(fields.at('tool_choice'), FORCED_CALL);
}

/** Maximum number of calls per answer: one if the caller disables parallel calls. */
export function mostCalls(fields: Fields): number {
  return (fields.boolean('parallel_tool_calls') ?? true) ? Infinity : 1;
}

/** `chatcmpl-0f…`. */
export function newId(kind: string): string {
  return `${kind}${kind === 'chatcmpl' || kind === 'cmpl' ? '-' : '_'}${randomUUID().replaceAll('-', '')}`;
}

/** The object in a JSON text: empty if the text is empty or null; undefined if it is not an object. */
function argumentsIn(json: string): Record<string, unknown> | undefined {
  if (['', 'null'].includes(json.trim())) return {};
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value) && !isDeeper(value, MAX_DEPTH) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The calls after an offset. */
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
  // The last one may be unclosed.
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

/** Offset after the brace that closes the one at `start`, ignoring braces within strings. */
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
