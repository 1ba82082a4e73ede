import { allGoals, parseGoal } from './grammar';

it('reads each of its sentences as itself', () => {
  const misread = [...allGoals()].filter(({ sentence }) => parseGoal(sentence)?.sentence !== sentence);
  expect(misread).toEqual([]);
});

it('reads a sentence with any end, and one of many marks in time', () => {
  expect(parseGoal('Please open the Settings!..')).toMatchObject({ sentence: 'Open Settings' });
  const began = performance.now();
  expect(parseGoal(`${'.'.repeat(65_536)}x`)).toBeNull();
  expect(performance.now() - began).toBeLessThan(3_000);
});
