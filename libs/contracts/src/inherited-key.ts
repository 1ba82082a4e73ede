/**
 * Keys that JavaScript, and class-transformer, which builds messages from plain objects, treat as the class of an
 * object.
 */
const INHERITED = ['constructor', '__proto__'];

/**
 * The first key in a plain value, at any depth, that every object inherits: data with such a key cannot be read as a
 * message. Undefined if there is none.
 */
export function inheritedKey(value: unknown): string | undefined {
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next !== 'object' || next === null || ArrayBuffer.isView(next)) continue;
    if (Array.isArray(next)) {
      pushObjects(next, waiting);
      continue;
    }
    for (const key of INHERITED) if (Object.hasOwn(next, key)) return key;
    pushObjects(Object.values(next), waiting);
  }
  return undefined;
}

/** Without spreading: arrays of tokens have more elements than a call can have arguments. */
function pushObjects(values: readonly unknown[], waiting: unknown[]): void {
  for (const value of values) if (typeof value === 'object' && value !== null) waiting.push(value);
}
