import { readJson, type Entry, type JsonNode } from '../json-reader';
import type { Call } from './call';
import { Rejection } from './rejection';
import { withoutQuotes } from './text-arguments';

export type ObjectNode = Extract<JsonNode, { type: 'object' }>;

const FENCE = /```[a-z]*\s*$/;

/**
 * The JSON values at the end of an answer: one, or several separated by white space; lists are flattened. Text before
 * them is the model's reasoning; a Markdown fence around them is ignored.
 *
 * @throws Rejection
 */
export function jsonObjects(text: string): ObjectNode[] {
  const start = firstValue(text);
  if (start < 0) throw nothing(text);
  const found: ObjectNode[] = [];
  let at = start;
  for (;;) {
    const read = readJson(text, at);
    if (!read.ok) throw new Rejection('malformed', read, `The JSON ${read.message}.`);
    found.push(...objectsIn(read.node));
    at = read.node.end;
    const gap = /^[\s,]*(?=[{[])/.exec(text.slice(at));
    if (gap === null) break;
    at += gap[0].length;
  }
  refuseTrailing(text, at, FENCE.test(text.slice(0, start)));
  if (found.length === 0) throw nothing(text);
  return found;
}

function nothing(text: string): Rejection {
  return new Rejection('no_action', { start: 0, end: text.length }, 'There is no JSON object in the answer.');
}

/** The first object, or the start of a list that begins with it. */
function firstValue(text: string): number {
  const object = text.indexOf('{');
  const list = /\[\s*$/.exec(text.slice(0, Math.max(0, object)));
  return object >= 0 && list !== null ? list.index : object;
}

function objectsIn(node: JsonNode): ObjectNode[] {
  if (node.type === 'object') return [node];
  if (node.type === 'array') return node.items.flatMap(objectsIn);
  throw new Rejection('wrong_type', node, 'An action is a JSON object.');
}

/** @throws Rejection if text follows the actions */
export function refuseTrailing(text: string, end: number, isFenced = false): void {
  const rest = text.slice(end);
  const allowed = isFenced ? /^\s*(?:```\s*)?$/ : /^\s*$/;
  if (allowed.test(rest)) return;
  const from = end + rest.search(/\S/);
  throw new Rejection('trailing_text', { start: from, end: text.length }, 'There is text behind the action.');
}

export function entryOf(node: ObjectNode, key: string): Entry | undefined {
  return node.entries.find((entry) => entry.key === key);
}

/** The text of a key; undefined if it is missing or not a text. */
export function textUnder(node: ObjectNode, key: string): string | undefined {
  const found = entryOf(node, key)?.node;
  return found?.type === 'string' ? found.value : undefined;
}

/**
 * The object as a call of the function that it names.
 * @throws Rejection if it names none
 */
export function callOf(node: ObjectNode, nameKey: string, args: readonly Entry[]): Call {
  const { start, end } = node;
  const name = entryOf(node, nameKey);
  if (name === undefined) throw new Rejection('missing_key', node, `The key "${nameKey}" is missing.`);
  if (name.node.type !== 'string')
    throw new Rejection('wrong_type', name.node, `The value of "${nameKey}" must be a string.`);
  return { name: name.node.value, at: name.node, args: [...args], start, end };
}

/** `{"type": "click", "x": …}`: the arguments are beside the name. */
export function flatCall(node: ObjectNode, nameKey: string): Call {
  const name = entryOf(node, nameKey);
  return callOf(
    node,
    nameKey,
    node.entries.filter((entry) => entry !== name),
  );
}

/**
 * `{"name": …, "args": {…}}`.
 * @throws Rejection if none of the keys contains arguments
 */
export function nestedCall(node: ObjectNode, nameKey: string, argsKeys: readonly string[]): Call {
  const args = argsKeys.map((key) => entryOf(node, key)).find((entry) => entry !== undefined);
  const call = callOf(node, nameKey, []);
  const value = withoutQuotes(args?.node);
  if (args === undefined || value === undefined || value.type === 'null') return call;
  if (value.type !== 'object')
    throw new Rejection('wrong_type', value, `The value of "${args.key}" must be an object.`);
  return { ...call, args: value.entries };
}

/**
 * The JSON values between `<tool_call>` and `</tool_call>`; the last tag may be unclosed. Without such tags, those of
 * the answer.
 * @throws Rejection
 */
export function toolCalls(text: string): ObjectNode[] {
  const tags = [...text.matchAll(/<tool_call>/g)];
  if (tags.length === 0) return jsonObjects(text);
  const found: ObjectNode[] = [];
  let end = tags[0].index;
  for (const tag of tags) {
    // A tag inside a value that was already read.
    if (tag.index < end) continue;
    refuseTrailing(text.slice(0, tag.index), end);
    const read = readJson(text, tag.index + tag[0].length);
    if (!read.ok) throw new Rejection('malformed', read, `The JSON of the tool call ${read.message}.`);
    found.push(...objectsIn(read.node));
    end = read.node.end + (/^\s*<\/tool_call>/.exec(text.slice(read.node.end))?.[0].length ?? 0);
  }
  refuseTrailing(text, end);
  return found;
}
