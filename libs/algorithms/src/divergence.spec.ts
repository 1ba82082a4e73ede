import { divergenceMetrics } from './index';

describe('the distance of sampler and trainer', () => {
  it('is measured over the tokens of all sequences', () => {
    const metrics = divergenceMetrics([
      { sampled: [-1], trained: [-1] },
      { sampled: [-1.5], trained: [-1] },
    ]);
    expect(metrics['optim/kl_sample_train_v1']).toBeCloseTo(-0.25, 12);
    expect(metrics['optim/kl_sample_train_v2']).toBeCloseTo(0.5 * 0.125, 12);
    expect(metrics['optim/logp_difference_max']).toBe(0.5);
    expect(metrics['optim/ratio_mean']).toBeCloseTo((1 + Math.exp(0.5)) / 2, 12);
    expect(metrics['optim/ratio_max']).toBeCloseTo(Math.exp(0.5), 12);
  });

  it('is not known where nothing was sampled', () => {
    expect(divergenceMetrics([])).toEqual({});
    expect(divergenceMetrics([{ sampled: [], trained: [] }])).toEqual({});
    expect(divergenceMetrics([{ sampled: [-1], trained: [Number.NaN] }])).toEqual({});
    const half = divergenceMetrics([{ sampled: [-1, -1.5], trained: [Number.NaN, -1] }]);
    expect(half['optim/kl_sample_train_v1']).toBeCloseTo(-0.5, 12);
  });
});
