import { environmentSeed, samplingSeed, SEED_RANGES, type SeedRange } from './index';

describe('seeds', () => {
  const ranges = Object.keys(SEED_RANGES) as SeedRange[];

  it('come from ranges that do not overlap and fill 31 bits', () => {
    let next = 0;
    for (const range of ranges) {
      expect(SEED_RANGES[range].first).toBe(next);
      next += SEED_RANGES[range].count;
    }
    expect(next).toBe(2 ** 31);
  });

  it.each(ranges)('stay within the range of %s', (range) => {
    const { first, count } = SEED_RANGES[range];
    const seeds = Array.from({ length: 500 }, (_, index) => environmentSeed(range, 7, index));
    for (const seed of seeds) {
      expect(seed).toBeGreaterThanOrEqual(first);
      expect(seed).toBeLessThan(first + count);
    }
    expect(new Set(seeds).size).toBe(500);
  });

  it('are the same for the same parts and differ with each of them', () => {
    expect(environmentSeed('training', 0, 5)).toBe(environmentSeed('training', 0, 5));
    expect(environmentSeed('training', 0, 5)).not.toBe(environmentSeed('training', 1, 5));
    expect(samplingSeed(0, 'g', 1)).toBe(samplingSeed(0, 'g', 1));
    expect(samplingSeed(0, 'g', 1)).not.toBe(samplingSeed(0, 'g', 2));
    expect(samplingSeed('a', 'bc')).not.toBe(samplingSeed('ab', 'c'));
  });
});
