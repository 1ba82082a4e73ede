import { trainingMinutes } from './training-minutes';

const minutes = (max_minutes: number, total_minutes: number, before: number, hasBaseline = true) =>
  trainingMinutes({ max_minutes, total_minutes }, before, hasBaseline);

test.each([1, 4, 14, 60])(
  'baseline, training and a final evaluation as long fit into %d minutes',
  (total) => {
    for (const share of [0.01, 0.1, 0.3, 0.4]) {
      const before = share * total;
      const training = minutes(0, total, before);
      expect(before + training + before).toBeLessThan(total);
      expect(before + training + before).toBeGreaterThan(0.9 * total);
    }
  },
);

test('a slow baseline makes the training shorter by twice its time, and some is always trained', () => {
  expect(minutes(0, 20, 2) - minutes(0, 20, 5)).toBeCloseTo(6);
  expect(minutes(0, 20, 9.9)).toBe(2);
  expect(minutes(0, 20, 500)).toBe(2);
});

test('without a baseline, a run reserves time for a final evaluation of unmeasured length', () => {
  expect(minutes(0, 20, 0.5, false)).toBeCloseTo(15.5);
});

test('the limit that comes first counts; without any there is none', () => {
  expect(minutes(3, 20, 2)).toBe(3);
  expect(minutes(300, 20, 2)).toBe(15);
  expect(minutes(3, 0, 200)).toBe(3);
  expect(minutes(0, 0, 2)).toBe(Infinity);
});
