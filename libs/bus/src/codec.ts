import { decode, encode } from '@msgpack/msgpack';
import { validateSync, type ValidationError } from 'class-validator';
import { inheritedKey, MAX_FIELDS, misplacedList, toInstance } from '@ui-rl/contracts';
import { hasTooManyInstances, jsonExcess, MAX_INSTANCES, messagePackExcess } from './bounds';

/** A contracts class that describes a message. */
export type MessageClass<T> = new () => T;

/** Classes of a discriminated union, by the value of its discriminator property. */
export interface MessageUnion<T> {
  key: string;
  classes: Readonly<Record<string, MessageClass<T>>>;
}

export type MessageSchema<T> = MessageClass<T> | MessageUnion<T>;

export type Read<T> = { ok: true; value: T } | { ok: false; reason: string };

/** Maximum number of problems that are reported for one message. */
const MAX_PROBLEMS = 20;

const text = new TextDecoder('utf-8', { fatal: true });

/** JSON bytes → a validated instance of the class. Without a class, any JSON object is accepted. */
export function readJson<T>(bytes: Uint8Array, schema?: MessageSchema<T>): Read<T> {
  const read = readAnyJson(bytes);
  return read.ok ? readPlain(read.value, schema) : read;
}

/** JSON bytes → any JSON value. */
export function readAnyJson(bytes: Uint8Array): Read<unknown> {
  const excess = jsonExcess(bytes);
  if (excess !== null) return { ok: false, reason: excess };
  try {
    return { ok: true, value: JSON.parse(text.decode(bytes)) };
  } catch (error) {
    return { ok: false, reason: `not JSON: ${(error as Error).message}` };
  }
}

export function writeJson(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** MessagePack bytes → a validated instance of the class. */
export function readBinary<T>(bytes: Uint8Array, schema?: MessageSchema<T>): Read<T> {
  const excess = messagePackExcess(bytes);
  if (excess !== null) return { ok: false, reason: excess };
  let plain: unknown;
  try {
    plain = decode(bytes, { maxArrayLength: bytes.length, maxMapLength: bytes.length });
  } catch (error) {
    return { ok: false, reason: `not MessagePack: ${(error as Error).message}` };
  }
  return readPlain(plain, schema);
}

export function writeBinary(value: unknown): Uint8Array {
  return encode(value, { ignoreUndefined: true });
}

function readPlain<T>(plain: unknown, schema?: MessageSchema<T>): Read<T> {
  if (typeof plain !== 'object' || plain === null || Array.isArray(plain) || ArrayBuffer.isView(plain)) {
    return { ok: false, reason: `expected an object, found ${nameOf(plain)}` };
  }
  return schema === undefined ? { ok: true, value: plain as T } : instantiate(plain, schema);
}

/** Converts a plain object to an instance of a contracts class; reports every invalid path. */
export function instantiate<T>(plain: object, schema: MessageSchema<T>): Read<T> {
  if (typeof schema === 'object') return instantiateOneOf(plain, schema);
  const inherited = inheritedKey(plain);
  if (inherited !== undefined) return { ok: false, reason: `"${inherited}" cannot be a key of a message` };
  const value = toInstance(schema, plain) as T & object;
  if (!(value instanceof schema)) {
    return {
      ok: false,
      reason: `has ${Object.keys(plain).length} fields, expected at most ${MAX_FIELDS}`,
    };
  }
  if (hasTooManyInstances(value)) return { ok: false, reason: `has more than ${MAX_INSTANCES} parts` };
  const misplaced = misplacedList(value);
  if (misplaced !== undefined)
    return { ok: false, reason: `${misplaced}: must be an object, found an array` };
  const problems = validateSync(value, { forbidUnknownValues: true, stopAtFirstError: true }).flatMap(
    (error) => problemsOf(error, ''),
  );
  return problems.length === 0 ? { ok: true, value } : { ok: false, reason: listOf(problems) };
}

function listOf(problems: readonly string[]): string {
  const rest = problems.length - MAX_PROBLEMS;
  return [...problems.slice(0, MAX_PROBLEMS), ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ');
}

function instantiateOneOf<T>(plain: object, { key, classes }: MessageUnion<T>): Read<T> {
  const kind: unknown = (plain as Record<string, unknown>)[key];
  if (typeof kind === 'string' && Object.hasOwn(classes, kind)) return instantiate(plain, classes[kind]);
  const known = Object.keys(classes).join(', ');
  return { ok: false, reason: `${key}: must be one of ${known}, found ${nameOf(kind)}` };
}

function problemsOf(error: ValidationError, parent: string): string[] {
  // class-validator does not know the object's class because it has more fields than any of them.
  if (error.constraints?.unknownValue !== undefined)
    return [`${parent}: must be an object of known fields, found ${nameOf(error.target)}`];
  const path = parent === '' ? error.property : `${parent}.${error.property}`;
  const own = Object.values(error.constraints ?? {}).map(
    (message) => `${path}: ${message.replace(`${error.property} `, '')}, found ${nameOf(error.value)}`,
  );
  return [...own, ...(error.children ?? []).flatMap((child) => problemsOf(child, path))];
}

function nameOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (typeof value === 'object') return 'an object';
  const shown = JSON.stringify(value) ?? typeof value;
  return shown.length > 60 ? `${shown.slice(0, 60)}…` : shown;
}
