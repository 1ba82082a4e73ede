import 'reflect-metadata';
import { Type } from 'class-transformer';
import { ValidateNested, validateSync } from 'class-validator';
import { toInstance } from './to-instance';

class Inner {
  text = 'default';
}

class Outer {
  @ValidateNested()
  @Type(() => Inner)
  inner: Inner;

  @ValidateNested({ each: true })
  @Type(() => Inner)
  list: Inner[];

  anything: unknown;
}

const numbers = Array.from({ length: 10_000 }, (_, index) => index);
const byKey = (count: number, value: unknown = null): object =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index * 7919}`, value]));

it('makes instances of nested classes, and leaves everything else as it is', () => {
  const plain = {
    inner: { more: numbers },
    list: [{ text: 'a' }, { text: 'b' }],
    anything: { deep: [byKey(200, { numbers }), byKey(3)], none: null },
    unknown: byKey(200, [[]]),
  };
  const value = toInstance(Outer, plain);
  expect(value).toBeInstanceOf(Outer);
  expect(value.inner).toBeInstanceOf(Inner);
  expect(value.inner).toEqual({ text: 'default', more: numbers });
  expect(value.list.map((each) => each instanceof Inner)).toEqual([true, true]);
  const { list, anything, unknown } = value as Outer & { unknown: unknown };
  expect({ inner: plain.inner, list, anything, unknown }).toEqual(plain);
});

it.each([
  ['an array', (bytes: Uint8Array) => [bytes, bytes]],
  ['a large object', (bytes: Uint8Array) => byKey(200, bytes)],
  ['the value itself', (bytes: Uint8Array) => bytes],
])('copies bytes in %s into Buffers', (_, around) => {
  const message = Buffer.from('message of bytes');
  const value = toInstance(Outer, { anything: around(message.subarray(2, 5)) });
  message.fill(0);
  const [first] = Buffer.isBuffer(value.anything)
    ? [value.anything]
    : Object.values(value.anything as object);
  expect(Buffer.isBuffer(first)).toBe(true);
  expect(String(first)).toBe('ssa');
});

it.each([
  ['that nothing is known of', { anything: byKey(100_000) }],
  ['deep inside', { anything: [{ a: byKey(100_000, byKey(1)) }] }],
  [
    'with keys that are numbers',
    { anything: Object.fromEntries(numbers.map((each) => [each * 7919, each])) },
  ],
])('takes an object of many keys %s without delay', (_, plain) => {
  const begun = process.cpuUsage();
  expect(toInstance(Outer, plain).anything).toEqual(plain.anything);
  expect(process.cpuUsage(begun).user / 1_000).toBeLessThan(8_000);
});

it('makes no instance of an object with more fields than any message has', () => {
  const value = toInstance(Outer, { inner: byKey(1_000), list: [byKey(1_000)] });
  expect(value.inner).not.toBeInstanceOf(Inner);
  expect(validateSync(value).map(({ property }) => property)).toEqual(['inner', 'list']);
  expect(toInstance(Outer, byKey(1_000))).not.toBeInstanceOf(Outer);
});
