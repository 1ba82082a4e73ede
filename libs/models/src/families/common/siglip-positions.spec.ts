import { bucketedPositionIds, bucketedPositions } from './siglip-positions';

test('a full axis takes every entry once', () => {
  for (const side of [4, 26, 27, 32, 70]) {
    expect(Array.from(bucketedPositions(side, side))).toEqual(Array.from({ length: side }, (_, i) => i));
  }
});

test('fewer or more patches than entries are spread over them, rounded as the reference rounds', () => {
  // Patches 7, 14, 28 and 35 of 49 lie on the border of an entry, and in float32 below it.
  expect(Array.from(bucketedPositions(49, 70)).slice(0, 38)).toEqual([
    ...[0, 1, 2, 4, 5, 7, 8, 9, 11, 12, 14, 15, 17, 18, 19, 21, 22, 24, 25, 27, 28, 30, 31, 32, 34, 35, 37],
    ...[38, 39, 41, 42, 44, 45, 47, 48, 49, 51, 52],
  ]);
  expect(Array.from(bucketedPositions(27, 26)).slice(0, 4)).toEqual([0, 0, 1, 2]);
  expect(Array.from(bucketedPositions(13, 26))).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24]);
});

test('entries of a picture stand row after row', () => {
  expect(Array.from(bucketedPositionIds(2, 3, 4))).toEqual([0, 1, 2, 8, 9, 10]);
});
