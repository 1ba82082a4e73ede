/**
 * Maximum nesting of messages. This project's messages nest at most 12 levels. Validation, copies and storage are
 * recursive, so without a limit 20,000 brackets would overflow the stack of every service that reads them.
 */
export const MAX_DEPTH = 64;
/**
 * Maximum number of arrays and objects in a message: enough for two page states of a million characters each. Copying
 * takes microseconds per container.
 */
export const MAX_CONTAINERS = 2 ** 20;
/** Maximum number of class instances in a message. Validation takes up to 50 µs per instance. */
export const MAX_INSTANCES = 2 ** 15;
/** Maximum number of values in a message. A larger array would cost the service gigabytes. */
export const MAX_VALUES = 2 ** 24;

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/**
 * Describes the exceeded limit of a JSON message; null if it is within limits. Scans bytes without building values.
 */
export function jsonExcess(bytes: Uint8Array): string | null {
  const tally = new Tally();
  let depth = 0;
  let inString = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (inString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === COMMA) tally.values += 1;
    else if (OPENING.has(byte)) {
      depth += 1;
      tally.open(depth);
      if (tally.excess !== null) return tally.excess;
    } else if (CLOSING.has(byte)) depth -= 1;
  }
  return tally.excess;
}

/**
 * The same for MessagePack. Headers state how many values follow, each takes at least one byte, and a decoder
 * allocates memory for all of them at once. Other faults end the scan, because decoding reports them. Source:
 * https://github.com/msgpack/msgpack/blob/master/spec.md
 */
export function messagePackExcess(bytes: Uint8Array): string | null {
  const tally = new Tally();
  /** Number of outstanding values of each open array and map. */
  const open: number[] = [];
  /** Total number of outstanding values. */
  let due = 1;
  let at = 0;
  while (at < bytes.length && due > 0) {
    const { children, length } = valueAt(bytes, at);
    at += length;
    due += children - 1;
    const leftBytes = Math.max(0, bytes.length - at);
    if (due > leftBytes) return `announces ${due} more values in its last ${leftBytes} bytes`;
    tally.values += children;
    if (children > 0) {
      open.push(children);
      tally.open(open.length);
      if (tally.excess !== null) return tally.excess;
      continue;
    }
    while (open.length > 0 && --open[open.length - 1] === 0) open.pop();
  }
  return tally.excess;
}

/** Counts the contents of a message. */
class Tally {
  values = 0;
  private containers = 0;
  private deepest = 0;

  open(depth: number): void {
    this.containers += 1;
    if (depth > this.deepest) this.deepest = depth;
  }

  get excess(): string | null {
    if (this.deepest > MAX_DEPTH) return `nests deeper than ${MAX_DEPTH} levels`;
    if (this.containers > MAX_CONTAINERS) return `has more than ${MAX_CONTAINERS} arrays and objects`;
    return this.values > MAX_VALUES ? `has more than ${MAX_VALUES} values` : null;
  }
}

/** Whether a value contains more than `MAX_INSTANCES` class instances. */
export function hasTooManyInstances(value: object): boolean {
  let found = 0;
  const waiting: object[] = [value];
  for (let next = waiting.pop(); next !== undefined && found <= MAX_INSTANCES; next = waiting.pop()) {
    if (ArrayBuffer.isView(next)) continue;
    if (!Array.isArray(next) && next.constructor !== Object) found += 1;
    for (const part of (Array.isArray(next) ? next : Object.values(next)) as unknown[]) {
      if (typeof part === 'object' && part !== null) waiting.push(part);
    }
  }
  return found > MAX_INSTANCES;
}

interface Value {
  /** Number of values inside: elements of an array, keys and values of a map. */
  children: number;
  /** Bytes up to the next value or the first inner value. */
  length: number;
}
/**
 * Total bytes of the numbers 0xca (float 32) to 0xd3 (int 64) and of the extensions 0xd4 (fixext 1) to 0xd8 (fixext
 * 16).
 */
const FIXED = [5, 9, 2, 3, 5, 9, 2, 3, 5, 9, 3, 4, 6, 10, 18];

function valueAt(bytes: Uint8Array, at: number): Value {
  const type = bytes[at];
  if (type >= 0x80 && type <= 0x8f) return { children: 2 * (type & 0x0f), length: 1 };
  if (type >= 0x90 && type <= 0x9f) return { children: type & 0x0f, length: 1 };
  if (type >= 0xa0 && type <= 0xbf) return { children: 0, length: 1 + (type & 0x1f) };
  if (type >= 0xc4 && type <= 0xc6) return sized(bytes, at, type - 0xc4, 0);
  if (type >= 0xc7 && type <= 0xc9) return sized(bytes, at, type - 0xc7, 1);
  if (type >= 0xca && type <= 0xd8) return { children: 0, length: FIXED[type - 0xca] };
  if (type >= 0xd9 && type <= 0xdb) return sized(bytes, at, type - 0xd9, 0);
  if (type === 0xdc || type === 0xdd) return counted(bytes, at, type - 0xdc, 1);
  if (type === 0xde || type === 0xdf) return counted(bytes, at, type - 0xde, 2);
  return { children: 0, length: 1 };
}

/** Bytes or text after a length of 1, 2 or 4 bytes. */
function sized(bytes: Uint8Array, at: number, width: number, further: number): Value {
  const size = 2 ** width;
  return { children: 0, length: 1 + size + further + (unsigned(bytes, at + 1, size) ?? bytes.length) };
}

/** An array or a map after a count of 2 or 4 bytes. */
function counted(bytes: Uint8Array, at: number, width: number, each: number): Value {
  const size = 2 ** (width + 1);
  const count = unsigned(bytes, at + 1, size);
  return count === undefined
    ? { children: 0, length: bytes.length }
    : { children: each * count, length: 1 + size };
}

/** Undefined if the bytes end early. */
function unsigned(bytes: Uint8Array, at: number, size: number): number | undefined {
  if (at + size > bytes.length) return undefined;
  let value = 0;
  for (let place = at; place < at + size; place += 1) value = value * 256 + bytes[place];
  return value;
}
