import { didYouMean, nearest } from './nearest';

describe('nearest', () => {
  it.each([
    ['learning_rat', ['learning_rate', 'seed'], ['learning_rate']],
    ['trainng', ['training', 'tasks'], ['training']],
    ['rollout.learning_rate', ['training.learning_rate', 'rollout.top_p'], ['training.learning_rate']],
    ['sed', ['sea', 'steer', 'seed', 'red', 'shed'], ['sea', 'seed', 'red']],
    ['xyzzy', ['seed'], []],
  ])('finds what %s may mean among %j', (unknown, known, expected) => {
    expect(nearest(unknown, known)).toEqual(expected);
  });

  it('asks, or says nothing', () => {
    expect(didYouMean('sed', ['seed', 'shed'], (name) => `--${name}`)).toBe(
      ' Did you mean --seed or --shed?',
    );
    expect(didYouMean('xyzzy', ['seed'])).toBe('');
  });
});
