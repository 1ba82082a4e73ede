import { DropoutSeeds } from './dropout-seeds';

test('every pass has its own seed, which a run that is repeated or resumed has, too', () => {
  const seeds = new DropoutSeeds(7);
  const first = [0, 0, 0, 1, 1].map((version) => seeds.next(version));
  expect(new Set(first).size).toBe(5);
  const again = new DropoutSeeds(7);
  expect([0, 0, 0, 1, 1].map((version) => again.next(version))).toEqual(first);
  expect(new DropoutSeeds(7).next(1)).toBe(first[3]);
  expect(new DropoutSeeds(8).next(0)).not.toBe(first[0]);
});

test('are those of a new process after a load of weights, after any number of passes before', () => {
  const seeds = new DropoutSeeds(7);
  const first = seeds.next(5);
  expect(seeds.next(5)).not.toBe(first);
  seeds.restart();
  expect(seeds.next(5)).toBe(first);
});
