import { StoredBatches, unitsOf } from './stored-batches';
import type { EpisodeNote } from './stored-episodes';

const line = { number: 1, offset: 0, bytes: 1 };
const episode = (rolloutId: string, reward: number, start = 'a'): EpisodeNote => ({
  ...{ rolloutId, reward, start, line },
});
const names = (units: ReturnType<typeof unitsOf>): string[][] =>
  units.map((unit) => unit.map(({ rolloutId }) => rolloutId));

describe('training data of stored episodes', () => {
  it('each episode whose return exceeds the threshold', () => {
    const episodes = [episode('a', 0), episode('b', 0.5), episode('c', 1)];
    expect(names(unitsOf(episodes, 'token', 0))).toEqual([['b'], ['c']]);
    expect(names(unitsOf(episodes, 'sequence', 0.5))).toEqual([['c']]);
  });

  it('pairs of one task and start, the better first, while returns differ', () => {
    const episodes = [
      ...[episode('low', 0), episode('other', 1, 'b'), episode('high', 1), episode('middle', 0.5)],
      ...[episode('same', 0.5), episode('alone', 1, 'c'), episode('equal', 1, 'b')],
    ];
    expect(names(unitsOf(episodes, 'pair', 0))).toEqual([['high', 'low']]);
  });
});

describe('batches of stored episodes', () => {
  it('give every unit once per epoch, each epoch in another order', () => {
    const batches = new StoredBatches(7, { batchSize: 3, epochs: 2, seed: 5 });
    expect(batches.steps).toBe(6);
    const epochs = [0, 3].map((first) => [0, 1, 2].map((step) => batches.at(first + step)));
    for (const epoch of epochs) {
      expect(epoch.map(({ length }) => length)).toEqual([3, 3, 1]);
      expect(epoch.flat().toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    }
    expect(epochs[0].flat()).not.toEqual(epochs[1].flat());
    expect(batches.epochsAfter(3)).toBe(1);
  });

  it('follow from seed and step alone', () => {
    const at = (seed: number) => new StoredBatches(20, { batchSize: 4, epochs: 3, seed }).at(11);
    expect(at(1)).toEqual(at(1));
    expect(at(1)).not.toEqual(at(2));
  });

  it('continue with further epochs where steps are given', () => {
    const batches = new StoredBatches(2, { batchSize: 8, epochs: 1, steps: 5, seed: 0 });
    expect(batches.steps).toBe(5);
    expect(batches.at(4).toSorted((a, b) => a - b)).toEqual([0, 1]);
  });
});
