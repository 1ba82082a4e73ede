import { passAtK } from './statistics';

it('pass@k is the share of sets of k tries with a success among them', () => {
  const tries = [true, false, false, true, false];
  const sets = tries.flatMap((a, i) => tries.slice(i + 1).map((b) => a || b));
  expect(passAtK(2, 5, 2)).toBeCloseTo(sets.filter(Boolean).length / sets.length, 12);
  expect(passAtK(2, 5, 1)).toBeCloseTo(0.4, 12);
  expect(passAtK(2, 5, 4)).toBe(1);
  expect(passAtK(0, 5, 5)).toBe(0);
  expect(passAtK(2, 5, 6)).toBeNull();
});
