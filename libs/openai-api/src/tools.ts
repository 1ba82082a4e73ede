import { randomUUID } from 'node:crypto';
import type { ToolCall } from '@ui-rl/contracts';
import { invalid, unsupported } from './errors';
import { Fields, isObject } from './fields';

export const MAX_TOOLS = 128;

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

/** A call of an earlier answer, as chat templates take it. */
export function templateCall(name: string, json: string): ToolCall {
  return { type: 'function', function: { name, arguments: parsed(json) ?? json } };
}

/**
 * What an answer calls, in the form in which most chat templates show it to models (`<tool_call>` around JSON with `name` and
 * `arguments`), and the text besides. What cannot be read so stays text; calls beyond the first `most` are left out.
 */
export function readCalls(answer: string, most = Infinity): { text: string; calls: FunctionCall[] } {
  const calls: FunctionCall[] = [];
  const text = answer.replaceAll(
    /<tool_call>\s*([\s\S]*?)\s*<\/tool_call>/g,
    (whole: string, json: string) => {
      const call = parsed(json);
      if (call === undefined || typeof call.name !== 'string' || !isObject(call.arguments)) return whole;
      if (calls.length < most)
        calls.push({ callId: newId('call'), name: call.name, arguments: JSON.stringify(call.arguments) });
      return '';
    },
  );
  return calls.length === 0 ? { text: answer, calls } : { text: text.trim(), calls };
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

function parsed(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
