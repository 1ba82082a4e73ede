import { tokenWeights } from './index';

describe('loss aggregation', () => {
  const tokens_N = [1, 3, 0];

  it('token-mean divides by all tokens', () => {
    expect([...tokenWeights(tokens_N, 'token-mean')]).toEqual([0.25, 0.25, 0]);
  });

  it('sequence-mean gives every sequence with tokens the same share', () => {
    const weights = tokenWeights(tokens_N, 'sequence-mean');
    expect(weights[0]).toBeCloseTo(1 / 2, 12);
    expect(weights[1]).toBeCloseTo(1 / 6, 12);
    expect(weights[2]).toBe(0);
  });

  it('constant divides by the given number and refuses to guess one', () => {
    expect([...tokenWeights(tokens_N, 'constant', 8)]).toEqual([0.125, 0.125, 0]);
    expect(() => tokenWeights(tokens_N, 'constant')).toThrow('divides by a fixed number of tokens');
  });
});
