import { array, assert, nat, property, uniqueArray } from 'fast-check';
import { decodeKeptTokens, encodeKeptTokens, MAX_KEPT_TOKENS } from './kept-tokens';

const ids = uniqueArray(nat(2 ** 31 - 1), { maxLength: 40 }).map((found) => found.toSorted((a, b) => a - b));

it('writes and reads what distributions were cut to', () => {
  assert(
    property(array(ids, { maxLength: 10 }), (kept) => {
      const read = decodeKeptTokens(encodeKeptTokens(kept), kept.length);
      expect(read.map((each) => [...each])).toEqual(kept);
    }),
  );
});

it('takes about a byte for each of many tokens', () => {
  const kept = [Array.from({ length: MAX_KEPT_TOKENS }, (_, index) => 3 * index)];
  expect(encodeKeptTokens(kept).length).toBeLessThan(1.4 * MAX_KEPT_TOKENS);
});

it.each<[string, string, number]>([
  ['too few', encodeKeptTokens([[1, 2]]), 2],
  ['too many', encodeKeptTokens([[1, 2], [3]]), 1],
  ['a token twice', Buffer.from([2, 5, 0]).toString('base64'), 1],
  ['more than may be kept', Buffer.from([0x81, 0x04]).toString('base64'), 1],
  ['a number without end', Buffer.from([255, 255, 255, 255, 255, 255]).toString('base64'), 1],
])('refuses %s', (_, text, tokens) => {
  expect(() => decodeKeptTokens(text, tokens)).toThrow(/kept|tokens/);
});
