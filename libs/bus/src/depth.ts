/**
 * How deeply messages may nest. Our own nest 12 levels at most; what arrives is walked recursively (validation, copies, storage), so
 * that without a bound 20,000 brackets would overflow the stack of every service that reads them.
 */
export const MAX_DEPTH = 64;

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/** Whether JSON nests deeper than `MAX_DEPTH`. Looks at the bytes only, so that nothing is built of them before. */
export function isJsonTooDeep(bytes: Uint8Array): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (inString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (OPENING.has(byte)) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (CLOSING.has(byte)) depth -= 1;
  }
  return false;
}

/**
 * The same of MessagePack. Bytes that are none end the walk: decoding says what is wrong with them.
 * Source: https://github.com/msgpack/msgpack/blob/master/spec.md
 */
export function isMessagePackTooDeep(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  /** Of each open array and map, how many values are still to come. */
  const open: number[] = [];
  let at = 0;
  while (at < bytes.length) {
    const { children, length } = valueAt(view, at);
    at += length;
    if (children > 0) {
      open.push(children);
      if (open.length > MAX_DEPTH) return true;
      continue;
    }
    while (open.length > 0 && --open[open.length - 1] === 0) open.pop();
  }
  return false;
}

interface Value {
  /** Values inside: those of an array, keys and values of a map. */
  children: number;
  /** Bytes up to the next value, or to the first inside. */
  length: number;
}

/** Bytes of the numbers 0xca (float 32) to 0xd3 (int 64), and of the extensions 0xd4 (fixext 1) to 0xd8 (fixext 16). */
const FIXED = [5, 9, 2, 3, 5, 9, 2, 3, 5, 9, 3, 4, 6, 10, 18];

function valueAt(view: DataView, at: number): Value {
  const type = view.getUint8(at);
  if (type >= 0x80 && type <= 0x8f) return { children: 2 * (type & 0x0f), length: 1 };
  if (type >= 0x90 && type <= 0x9f) return { children: type & 0x0f, length: 1 };
  if (type >= 0xa0 && type <= 0xbf) return { children: 0, length: 1 + (type & 0x1f) };
  if (type >= 0xc4 && type <= 0xc6) return sized(view, at, type - 0xc4, 0);
  if (type >= 0xc7 && type <= 0xc9) return sized(view, at, type - 0xc7, 1);
  if (type >= 0xca && type <= 0xd8) return { children: 0, length: FIXED[type - 0xca] };
  if (type >= 0xd9 && type <= 0xdb) return sized(view, at, type - 0xd9, 0);
  if (type === 0xdc || type === 0xdd) return counted(view, at, type - 0xdc, 1);
  if (type === 0xde || type === 0xdf) return counted(view, at, type - 0xde, 2);
  return { children: 0, length: 1 };
}

/** Bytes or text behind its length in 1, 2 or 4 bytes. */
function sized(view: DataView, at: number, width: number, further: number): Value {
  const bytes = 2 ** width;
  return { children: 0, length: 1 + bytes + further + (unsigned(view, at + 1, bytes) ?? view.byteLength) };
}

/** An array or a map behind its count in 2 or 4 bytes. */
function counted(view: DataView, at: number, width: number, each: number): Value {
  const bytes = 2 ** (width + 1);
  const count = unsigned(view, at + 1, bytes);
  return count === undefined
    ? { children: 0, length: view.byteLength }
    : { children: each * count, length: 1 + bytes };
}

function unsigned(view: DataView, at: number, bytes: number): number | undefined {
  if (at + bytes > view.byteLength) return undefined;
  if (bytes === 1) return view.getUint8(at);
  return bytes === 2 ? view.getUint16(at) : view.getUint32(at);
}
