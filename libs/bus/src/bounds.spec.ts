import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { encode } from '@msgpack/msgpack';
import { Type } from 'class-transformer';
import { IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { readBinary, readJson } from './codec';
import { jsonExcess, MAX_DEPTH, MAX_VALUES, messagePackExcess } from './bounds';

class Anything {
  @IsObject()
  value: Record<string, unknown>;
}

class Part {
  @IsOptional()
  @IsString()
  name?: string;
}

class Whole {
  @ValidateNested({ each: true })
  @Type(() => Part)
  parts: Part[];
}

/** An object of this nesting depth, with alternating arrays and objects. */
function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = depth; level > 0; level -= 1)
    value = level % 2 === 0 ? [value, 'x'] : { 'a"[': value, b: null };
  return value;
}

const TOO_DEEP = 'nests deeper than 64 levels';

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const pack = (value: unknown) => encode(value, { maxDepth: 1_000 });

it('counts what is open at once, not how often something opens', () => {
  const wide = { value: Array.from({ length: 1_000 }, () => nested(3)), 'a\\"[[': '{{{"[[' };
  for (const value of [nested(MAX_DEPTH), wide]) {
    expect(jsonExcess(json(value))).toBeNull();
    expect(messagePackExcess(pack(value))).toBeNull();
  }
  expect(jsonExcess(json(nested(MAX_DEPTH + 1)))).toBe(TOO_DEEP);
  expect(messagePackExcess(pack(nested(MAX_DEPTH + 1)))).toBe(TOO_DEEP);
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
  // The next value is found only if the length of this one is computed correctly.
  for (const value of values) {
    expect(messagePackExcess(pack([value, nested(MAX_DEPTH - 1)]))).toBeNull();
    expect(messagePackExcess(pack([value, nested(MAX_DEPTH)]))).toBe(TOO_DEEP);
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

it('leaves bytes that are not a message to the decoder', () => {
  for (const bytes of [Buffer.from([]), Buffer.from([0xdd]), Buffer.from([0xc6, 255]), Buffer.from('[[[')]) {
    expect(jsonExcess(bytes)).toBeNull();
    expect(readBinary(bytes).ok || readJson(bytes).ok).toBe(false);
  }
});

/** A MessagePack header with a 32-bit count or length. */
function header(type: number, count = 0xffff_ffff): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.writeUInt8(type);
  bytes.writeUInt32BE(count, 1);
  return bytes;
}
const VALUE = Buffer.from([0x81, 0xa5, ...Buffer.from('value')]);
const times = (count: number, part: Buffer): Buffer => Buffer.alloc(count * part.length, part);
const [ARRAY, MAP, TEXT, BYTES, EXTENSION] = [0xdd, 0xdf, 0xdb, 0xc6, 0xc9];

it.each([
  ['20 nested arrays', times(20, header(ARRAY))],
  ['20 nested arrays of 16 bits', times(20, Buffer.from([0xdc, 0xff, 0xff]))],
  ['20 nested arrays of as many elements as the message has bytes', times(20, header(ARRAY, 100))],
  ['arrays of fifteen in arrays of fifteen', Buffer.alloc(60, 0x9f)],
  ['nested maps', times(20, Buffer.concat([header(MAP), Buffer.from([0xa1, 0x61])]))],
  ['maps of fifteen', times(60, Buffer.from([0x8f, 0xa1, 0x61]))],
  ['a map whose entries miss their values', Buffer.concat([header(MAP, 100), Buffer.alloc(199, 0xc0)])],
  ['an array behind other elements', Buffer.concat([Buffer.from([0x93, 1, 2]), header(ARRAY, 2 ** 31)])],
  ['an array in a value of a map', Buffer.concat([Buffer.from([0x81, 0xa1, 0x61]), header(ARRAY, 1_000)])],
  ['an array behind an extension', Buffer.concat([Buffer.from([0x92, 0xd4, 5, 0]), header(ARRAY)])],
])('refuses %s before memory is set aside for what is announced', (_, body) => {
  const read = readBinary(Buffer.concat([VALUE, body]), Anything);
  expect(read).toEqual({
    ok: false,
    reason: expect.stringMatching(/^announces \d+ more values in its last \d+ bytes$/),
  });
});

it.each([
  ['a text', header(TEXT)],
  ['bytes', header(BYTES)],
  ['an extension', Buffer.concat([header(EXTENSION), Buffer.from([5])])],
  ['a text that is a key', Buffer.concat([Buffer.from([0x81]), header(TEXT), Buffer.from([0x61])])],
  ['bytes in an array', Buffer.concat([Buffer.from([0x91]), header(BYTES, 10), Buffer.alloc(9)])],
  ['the content of an extension', Buffer.concat([header(EXTENSION, 5), header(ARRAY)])],
])('refuses %s that announces more bytes than follow', (_, body) => {
  const read = readBinary(Buffer.concat([VALUE, body]), Anything);
  expect(read).toEqual({
    ok: false,
    reason: expect.stringMatching(/Insufficient data|Out of bounds|Offset is outside|more values/),
  });
});

it('does not look for messages in an extension', () => {
  const inside = times(20, header(ARRAY));
  const extension = Buffer.concat([header(EXTENSION, inside.length), Buffer.from([5]), inside]);
  const message = Buffer.concat([VALUE, Buffer.from([0x81, 0xa1, 0x61]), extension]);
  expect(readBinary<{ value: object }>(message, Anything)).toMatchObject({
    ok: true,
    value: { value: { a: { type: 5 } } },
  });
});

it('bounds what a message may have of values, and of arrays and objects', () => {
  const many = (type: number, count: number, part: number) =>
    Buffer.concat([VALUE, Buffer.from([0x81, 0xa1, 0x61]), header(type, count), Buffer.alloc(count, part)]);
  expect(messagePackExcess(many(ARRAY, MAX_VALUES, 0xc0))).toBe('has more than 16777216 values');
  expect(messagePackExcess(many(ARRAY, 300_000, 0xc0))).toBeNull();
  expect(
    messagePackExcess(Buffer.concat([header(ARRAY, 2 ** 21), times(2 ** 21, Buffer.from([0x91, 1]))])),
  ).toBe('has more than 1048576 arrays and objects');
  expect(jsonExcess(Buffer.from(`[${'1,'.repeat(MAX_VALUES + 1)}1]`))).toBe('has more than 16777216 values');
  expect(jsonExcess(Buffer.from(`[${'{},'.repeat(2 ** 21)}1]`))).toBe(
    'has more than 1048576 arrays and objects',
  );
  expect(jsonExcess(Buffer.from(`["${'{},['.repeat(300_000)}"]`))).toBeNull();
});

it('refuses more parts than can be validated in a moment', () => {
  const message = (count: number) => json({ parts: Array.from({ length: count }, () => ({})) });
  expect(readJson(message(1_000), Whole)).toMatchObject({ ok: true });
  const begun = process.cpuUsage();
  expect(readJson(message(100_000), Whole)).toEqual({ ok: false, reason: 'has more than 32768 parts' });
  expect(process.cpuUsage(begun).user / 1_000).toBeLessThan(4_000);
});

it('refuses a part with more fields than any has', () => {
  const read = readJson(
    json({ parts: [{}, Object.fromEntries(Array.from({ length: 200 }, (_, at) => [at, at]))] }),
    Whole,
  );
  expect(read).toEqual({ ok: false, reason: 'parts.1: must be an object of known fields, found an object' });
});

it('names the first twenty faults, and how many there are besides', () => {
  const read = readJson(json({ parts: Array.from({ length: 50 }, () => ({ name: 1 })) }), Whole);
  expect(read).toEqual({
    ok: false,
    reason: expect.stringMatching(
      /^parts\.0\.name: must be a string, found 1; .*parts\.19\.name[^;]*; and 30 more$/,
    ),
  });
});

it('reads objects of many keys in a time linear in their number', () => {
  const value = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, null]));
  for (const read of [
    () => readJson(json({ value }), Anything),
    () => readBinary(pack({ value }), Anything),
  ]) {
    const begun = process.cpuUsage();
    expect(read().ok).toBe(true);
    expect(process.cpuUsage(begun).user / 1_000).toBeLessThan(3_000);
  }
  expect(readJson(json(value), Anything)).toEqual({
    ok: false,
    reason: 'has 100000 fields, expected at most 128',
  });
});

class Nested {
  @ValidateNested()
  @Type(() => Whole)
  whole: Whole;
}

it.each([
  [{ whole: [] }, 'whole'],
  [{ whole: { parts: [[]] } }, 'whole.parts.0'],
])('a list is not taken for an object: %j', (value, path) => {
  expect(readJson(json(value), Nested)).toEqual({
    ok: false,
    reason: `${path}: must be an object, found an array`,
  });
});
