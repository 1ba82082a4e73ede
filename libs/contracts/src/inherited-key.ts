/** Names that mean the class of an object to JavaScript, and to class-transformer, which makes messages of plain objects. */
const INHERITED = ['constructor', '__proto__'];

/**
 * The first key in a plain value, at any depth, that every object inherits: data that has one of its own cannot be read as a message.
 * Undefined where there is none.
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

/** Without spreading: arrays of tokens have more elements than a call may have arguments. */
function pushObjects(values: readonly unknown[], waiting: unknown[]): void {
  for (const value of values) if (typeof value === 'object' && value !== null) waiting.push(value);
}
