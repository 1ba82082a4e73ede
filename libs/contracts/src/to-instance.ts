import { plainToInstance } from 'class-transformer';

/** More keys than any message has; arrays with more elements are not inspected element by element. */
export const MAX_FIELDS = 128;

/**
 * Converts a plain value to an instance of a class, including nested classes, in time linear in its size. Bytes
 * become separate Buffers. An object with more than `MAX_FIELDS` fields stays plain and fails validation.
 *
 * class-transformer compares each key of an object with all others (100,000 keys: 30 s) and copies arrays element by
 * element. Large objects, and large arrays without objects, are hidden from it behind functions, which it passes
 * through.
 */
export function toInstance<T>(schema: new () => T, plain: object): T {
  return shown(plainToInstance(schema, hidden(plain))) as T;
}

function hidden(value: unknown): unknown {
  if (!isObject(value)) return value;
  if (ArrayBuffer.isView(value)) {
    const bytes = Buffer.from(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
    return () => bytes;
  }
  if (Array.isArray(value)) {
    return value.length > MAX_FIELDS && !value.some(isObject) ? () => value : value.map(hidden);
  }
  const entries = Object.entries(value).map(([key, part]) => [key, hidden(part)] as const);
  const copy = Object.fromEntries(entries);
  return entries.length > MAX_FIELDS ? () => shown(copy) : copy;
}

/** Restores the hidden values. */
function shown(value: unknown): unknown {
  if (typeof value === 'function') return (value as () => unknown)();
  if (!isObject(value) || ArrayBuffer.isView(value)) return value;
  const owner = value as Record<string, unknown>;
  for (const [key, part] of Object.entries(owner)) {
    if (typeof part === 'function' || isObject(part)) owner[key] = shown(part);
  }
  return owner;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
