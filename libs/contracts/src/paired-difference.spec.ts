import {
  independentDifference,
  isIndependentSignificant,
  isPairedSignificant,
  pairedDifference,
} from './paired-difference';

describe('the difference of two that tried the same', () => {
  it('has the interval that Newcombe gives for his example of 36, 12, 2 and 0 pairs', () => {
    const found = pairedDifference({ both: 36, onlyFirst: 2, onlySecond: 12, neither: 0 })!;
    expect(found.difference).toBeCloseTo(0.2, 12);
    expect(found.interval.map((bound) => bound.toFixed(4))).toEqual(['0.0569', '0.3404']);
  });

  it('changes its sign with their order', () => {
    const pairs = { both: 20, onlyFirst: 2, onlySecond: 12, neither: 16 };
    const there = pairedDifference(pairs)!;
    const back = pairedDifference({ ...pairs, onlyFirst: 12, onlySecond: 2 })!;
    expect(back.difference).toBeCloseTo(-there.difference, 12);
    expect(back.interval[0]).toBeCloseTo(-there.interval[1], 12);
    expect(back.interval[1]).toBeCloseTo(-there.interval[0], 12);
  });

  it('is narrower than of two that tried different things where they agree, and none without pairs', () => {
    const width = (both: number, apart: number, neither: number) => {
      const { interval } = pairedDifference({ both, onlyFirst: apart, onlySecond: apart, neither })!;
      return interval[1] - interval[0];
    };
    expect(width(48, 2, 48)).toBeLessThan(width(25, 25, 25));
    expect(pairedDifference({ both: 0, onlyFirst: 0, onlySecond: 0, neither: 0 })).toBeNull();
  });

  it('contains no difference where both always did the same', () => {
    const { difference, interval } = pairedDifference({ both: 10, onlyFirst: 0, onlySecond: 0, neither: 0 })!;
    expect(difference).toBe(0);
    expect(interval[0]).toBeLessThan(0);
    expect(interval[1]).toBeGreaterThan(0);
  });
});

describe('the difference of two that tried different things', () => {
  // Newcombe 1998, "Interval estimation for the difference between independent proportions", table II, method 10.
  it.each([
    [[48, 80], [56, 70], 0.2, 0.0524, 0.3339],
    [[3, 10], [9, 10], 0.6, 0.1705, 0.809],
    [[0, 10], [10, 10], 1, 0.6075, 1],
  ] as const)('from %p to %p is that of the literature', (before, after, difference, low, high) => {
    const [a, b] = [before, after].map(([successes, episodes]) => ({ successes, episodes }));
    const found = independentDifference(a, b)!;
    expect(found.difference).toBeCloseTo(difference, 10);
    expect(found.interval[0]).toBeCloseTo(low, 4);
    expect(found.interval[1]).toBeCloseTo(high, 4);
  });

  it('is unknown without an episode', () => {
    const none = { successes: 0, episodes: 0 };
    expect(independentDifference(none, { successes: 1, episodes: 1 })).toBeNull();
    expect(independentDifference({ successes: 1, episodes: 1 }, none)).toBeNull();
  });
});

describe('whether a difference is significant', () => {
  it.each([
    // p = 2 · 0.5^n where all that differ do so in one direction: 0.25, 0.0625, 0.03125.
    [0, 3, false],
    [0, 5, false],
    [0, 6, true],
    [6, 0, true],
    // R: binom.test(2, 12)$p.value = 0.0386, binom.test(3, 12)$p.value = 0.146
    [2, 10, true],
    [3, 9, false],
    [0, 0, false],
    [400, 600, true],
  ])('of pairs: %i only by the first, %i only by the second', (onlyFirst, onlySecond, expected) => {
    expect(isPairedSignificant({ both: 5, onlyFirst, onlySecond, neither: 1 })).toBe(expected);
  });

  it.each([
    // R: fisher.test(matrix(c(1, 3, 4, 0), 2))$p.value = 0.1429; c(0, 4, 4, 0): 0.02857; c(3, 7, 9, 1): 0.0198
    [[1, 4], [4, 4], false],
    [[0, 4], [4, 4], true],
    [[3, 10], [9, 10], true],
    [[9, 10], [3, 10], true],
    [[5, 10], [5, 10], false],
    [[300, 1000], [360, 1000], true],
  ] as const)('of different episodes: %j, %j', ([a, n], [b, m], expected) => {
    const [before, after] = [
      { successes: a, episodes: n },
      { successes: b, episodes: m },
    ];
    expect(isIndependentSignificant(before, after)).toBe(expected);
  });
});
