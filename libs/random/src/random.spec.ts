import { mix32, normals, Random, seedFor, uniformAt, uniformGenerator } from './index';

// Runs depend on these values: a run that is resumed or repeated with its seed must get the same ones.

it('gives the number of a seed and position, alone', () => {
  const places: [number, number][] = [
    [0, 0],
    [7, 3],
    [2 ** 40 + 5, 9],
    [123_456_789, 1000],
  ];
  expect(places.map(([seed, position]) => uniformAt(seed, position))).toEqual([
    0.787498231408614, 0.9719181178308838, 0.5445109048921025, 0.549071353539339,
  ]);
});

it('mixes 32 bits', () => {
  expect([0, 1, 2 ** 31, 2 ** 32 - 1].map(mix32)).toEqual([0, 1_364_076_727, 1_832_674_720, 2_180_083_513]);
});

it.each([
  [0, [0.26642920868471265, 0.0003297457005828619, 0.2232720274478197]],
  [42, [0.6011037519201636, 0.44829055899754167, 0.8524657934904099]],
  [2 ** 31, [0.8205775609239936, 0.4481089550536126, 0.7836112855002284]],
])('gives the sequence of seed %i', (seed, expected) => {
  const uniform = uniformGenerator(seed);
  expect(expected.map(() => uniform())).toEqual(expected);
});

it('chooses by its sequence', () => {
  const list = [0, 1, 2, 3, 4, 5, 6, 7];
  expect(new Random(3).shuffled(list)).toEqual([7, 4, 1, 3, 6, 2, 0, 5]);
  expect(list).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  const random = new Random(1);
  const drawn = Array.from({ length: 3_000 }, () => random.pick(list));
  for (const element of list) {
    const share = drawn.filter((each) => each === element).length / drawn.length;
    expect(Math.abs(share - 1 / 8)).toBeLessThan(0.03);
  }
});

it('gives every name its own seed', () => {
  const names = Array.from({ length: 1_000 }, (_, i) => `model.layers.${i}.weight`);
  expect(new Set(names.map((name) => seedFor(name, 0))).size).toBe(names.length);
  expect(seedFor('a', 0)).not.toBe(seedFor('a', 1));
});

it('draws from a normal distribution', () => {
  const drawn = normals(20_001, 0.5, 9);
  const mean = drawn.reduce((sum, x) => sum + x, 0) / drawn.length;
  const variance = drawn.reduce((sum, x) => sum + (x - mean) ** 2, 0) / drawn.length;
  expect(Math.abs(mean)).toBeLessThan(0.015);
  expect(Math.abs(Math.sqrt(variance) - 0.5)).toBeLessThan(0.01);
});
