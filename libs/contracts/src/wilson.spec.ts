import { wilson } from './wilson';

describe('the Wilson interval', () => {
  // Newcombe, Two-sided confidence intervals for the single proportion (1998), table I, method 3.
  it.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])('of %i in %i', (successes, n, low, high) => {
    const [foundLow, foundHigh] = wilson(successes, n);
    expect(foundLow).toBeCloseTo(low, 4);
    expect(foundHigh).toBeCloseTo(high, 4);
  });

  it('of all is the mirror image of none', () => {
    expect(wilson(20, 20)[0]).toBeCloseTo(1 - 0.1611, 4);
    expect(wilson(20, 20)[1]).toBe(1);
  });

  it('says nothing without episodes', () => {
    expect(wilson(0, 0)).toEqual([0, 1]);
  });
});
