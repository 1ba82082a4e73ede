import { MODIFIERS, type Point } from './action';
import type { ParseFailureReason } from './dialect';
import type { JsonNode } from './json-reader';
import { keyOfName, modifiersNamed } from './keys';
import { MAX_COORDINATE, MAX_KEYS, MAX_VIA, type FieldRule } from './schema';

export type FieldValue = string | number | boolean | string[] | Point | Point[];

export type FieldResult =
  | { ok: true; value: FieldValue }
  | { ok: false; reason: ParseFailureReason; node: JsonNode; expected: string };

/** Checks one value against its rule. */
export function checkField(node: JsonNode, rule: FieldRule): FieldResult {
  switch (rule.type) {
    case 'integer':
    case 'number':
      return checkNumber(node, rule);
    case 'string':
      return checkString(node, rule);
    case 'boolean':
      return node.type === 'boolean' ? { ok: true, value: node.value } : wrongType(node, 'true or false');
    case 'one-of':
      return checkOneOf(node, rule.values);
    case 'point':
      return checkPoint(node);
    case 'keys':
      return checkKeys(node);
    case 'modifiers':
      return checkModifiers(node);
    case 'key':
      return checkKey(node);
    case 'path':
      return checkPath(node);
  }
}

function wrongType(node: JsonNode, expected: string): FieldResult {
  return { ok: false, reason: 'wrong_type', node, expected };
}

function checkNumber(
  node: JsonNode,
  rule: { type: 'integer' | 'number'; min: number; max: number },
): FieldResult {
  const kind = rule.type === 'integer' ? 'a whole number' : 'a number';
  const expected = `${kind} from ${rule.min} to ${rule.max}`;
  if (node.type !== 'number') return wrongType(node, expected);
  if (!Number.isFinite(node.value) || node.value < rule.min || node.value > rule.max) {
    return { ok: false, reason: 'out_of_range', node, expected };
  }
  if (rule.type === 'integer' && !Number.isInteger(node.value)) return wrongType(node, expected);
  return { ok: true, value: node.value };
}

function checkString(node: JsonNode, rule: { maxLength: number }): FieldResult {
  if (node.type !== 'string') return wrongType(node, 'a string');
  if (node.value.length > rule.maxLength) {
    return { ok: false, reason: 'out_of_range', node, expected: `at most ${rule.maxLength} characters` };
  }
  return { ok: true, value: node.value };
}

function checkOneOf(node: JsonNode, values: readonly string[]): FieldResult {
  const expected = `one of ${values.map((value) => JSON.stringify(value)).join(', ')}`;
  if (node.type !== 'string') return wrongType(node, expected);
  if (!values.includes(node.value)) return { ok: false, reason: 'unknown_value', node, expected };
  return { ok: true, value: node.value };
}

/** `[x, y]`; also accepts `{"x": …, "y": …}`. */
function checkPoint(node: JsonNode): FieldResult {
  const parts = pointParts(node);
  if (parts === null) return wrongType(node, 'a place [x, y]');
  const values: number[] = [];
  for (const part of parts) {
    const result = checkNumber(part, { type: 'integer', min: 0, max: MAX_COORDINATE });
    if (!result.ok) return result;
    values.push(result.value as number);
  }
  return { ok: true, value: [values[0], values[1]] };
}

function pointParts(node: JsonNode): JsonNode[] | null {
  if (node.type === 'array') return node.items.length === 2 ? node.items : null;
  if (node.type !== 'object' || node.entries.length !== 2) return null;
  const x = node.entries.find((entry) => entry.key === 'x');
  const y = node.entries.find((entry) => entry.key === 'y');
  return x === undefined || y === undefined ? null : [x.node, y.node];
}

function checkKeys(node: JsonNode): FieldResult {
  const expected = `a list of 1 to ${MAX_KEYS} keys such as ["ctrl", "a"] or ["enter"]`;
  if (node.type !== 'array') return wrongType(node, expected);
  if (node.items.length === 0 || node.items.length > MAX_KEYS) {
    return { ok: false, reason: 'out_of_range', node, expected };
  }
  const keys: string[] = [];
  for (const item of node.items) {
    if (item.type !== 'string') return wrongType(item, expected);
    const key = keyOfName(item.value);
    if (key === null) return { ok: false, reason: 'unknown_value', node: item, expected };
    keys.push(key);
  }
  return { ok: true, value: keys };
}

function checkModifiers(node: JsonNode): FieldResult {
  const expected = `a list of ${MODIFIERS.join(', ')}`;
  if (node.type !== 'array') return wrongType(node, expected);
  const other = node.items.find((item) => item.type !== 'string');
  if (other !== undefined) return wrongType(other, expected);
  const value = modifiersNamed(node.items.map((item) => (item.type === 'string' ? item.value : '')));
  if (value === null || value.length === 0) return { ok: false, reason: 'unknown_value', node, expected };
  return { ok: true, value };
}

function checkKey(node: JsonNode): FieldResult {
  const expected = 'a key such as "shift" or "a"';
  if (node.type !== 'string') return wrongType(node, expected);
  const value = keyOfName(node.value);
  return value === null ? { ok: false, reason: 'unknown_value', node, expected } : { ok: true, value };
}

function checkPath(node: JsonNode): FieldResult {
  const expected = `a list of 1 to ${MAX_VIA} places such as [[20, 80], [60, 40]]`;
  if (node.type !== 'array') return wrongType(node, expected);
  if (node.items.length === 0 || node.items.length > MAX_VIA)
    return { ok: false, reason: 'out_of_range', node, expected };
  const places: Point[] = [];
  for (const item of node.items) {
    const result = checkPoint(item);
    if (!result.ok) return result;
    places.push(result.value as Point);
  }
  return { ok: true, value: places };
}
