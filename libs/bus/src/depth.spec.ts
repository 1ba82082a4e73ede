import { randomBytes } from 'node:crypto';
import { encode } from '@msgpack/msgpack';
import { IsObject } from 'class-validator';
import { readBinary, readJson } from './codec';
import { isJsonTooDeep, isMessagePackTooDeep, MAX_DEPTH } from './depth';

class Anything {
  @IsObject()
  value: Record<string, unknown>;
}

/** An object that nests so deeply, by arrays and objects in turn. */
function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = depth; level > 0; level -= 1)
    value = level % 2 === 0 ? [value, 'x'] : { 'a"[': value, b: null };
  return value;
}

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const pack = (value: unknown) => encode(value, { maxDepth: 1_000 });

it('counts what is open at once, not how often something opens', () => {
  const wide = { value: Array.from({ length: 1_000 }, () => nested(3)), 'a\\"[[': '{{{"[[' };
  for (const value of [nested(MAX_DEPTH), wide]) {
    expect(isJsonTooDeep(json(value))).toBe(false);
    expect(isMessagePackTooDeep(pack(value))).toBe(false);
  }
  expect(isJsonTooDeep(json(nested(MAX_DEPTH + 1)))).toBe(true);
  expect(isMessagePackTooDeep(pack(nested(MAX_DEPTH + 1)))).toBe(true);
});

it('walks over every type of MessagePack', () => {
  const lengths = [0, 1, 31, 32, 255, 256, 65_535, 65_536];
  const values: unknown[] = [
    ...lengths.map((length) => 'x'.repeat(length)),
    ...lengths.map((length) => randomBytes(length)),
    ...lengths.map((length) => Array.from({ length }, (_, index) => index)),
    ...[15, 16, 70_000].map((length) =>
      Object.fromEntries(Array.from({ length }, (_, key) => [`k${key}`, key])),
    ),
    ...[
      0,
      127,
      128,
      255,
      256,
      65_536,
      2 ** 32,
      2 ** 53 - 1,
      -1,
      -32,
      -33,
      -129,
      -32_769,
      -(2 ** 31) - 1,
      0.5,
    ],
    ...[null, true, false, new Date(0), new Date(1.5e12), new Date(2 ** 40)],
  ];
  // What follows a value is found at its place only where the value's own length is right.
  for (const value of values) {
    expect(isMessagePackTooDeep(pack([value, nested(MAX_DEPTH - 1)]))).toBe(false);
    expect(isMessagePackTooDeep(pack([value, nested(MAX_DEPTH)]))).toBe(true);
  }
});

it('refuses messages of 20,000 levels before anything is built of them', () => {
  const deep = Buffer.from(`{"value":${'['.repeat(20_000)}${']'.repeat(20_000)}}`);
  expect(readJson(deep, Anything)).toEqual({ ok: false, reason: 'nests deeper than 64 levels' });
  expect(readBinary(Buffer.alloc(20_000, 0x91), Anything)).toEqual({
    ok: false,
    reason: 'nests deeper than 64 levels',
  });
});

it('leaves bytes that are no message to the decoder', () => {
  for (const bytes of [Buffer.from([]), Buffer.from([0xdd]), Buffer.from([0xc6, 255]), Buffer.from('[[[')]) {
    expect(isMessagePackTooDeep(bytes)).toBe(false);
    expect(isJsonTooDeep(bytes)).toBe(false);
    expect(readBinary(bytes).ok || readJson(bytes).ok).toBe(false);
  }
});
