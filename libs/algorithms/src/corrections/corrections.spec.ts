import { none } from './none';
import { tis, TisOptions } from './tis';

describe('corrections', () => {
  it('none has no weights', () => {
    expect(none.create({}, {})).toBeNull();
  });

  it('tis weighs tokens by the ratio of trainer and sampler, up to the cap', () => {
    const correction = tis.create(new TisOptions(), {})!;
    const weights = correction.weights({
      sampleLogprobs: Float32Array.of(-1, -1, -3, -0.5),
      proximalLogprobs: Float32Array.of(-1, -0.5, -1, -1.5),
    });
    // ratios 1, e^0.5 = 1.64872, e^2 = 7.389, e^-1 = 0.36788
    [1, 1.64872, 2, 0.36788].forEach((weight, token) => expect(weights[token]).toBeCloseTo(weight, 5));
  });
});
