import { addToken, noStatistics, toMetrics } from './index';

describe('token metrics', () => {
  it('measure the distance of sampler and trainer, and the clipped share', () => {
    const statistics = noStatistics();
    const loss = { name: 'ppo' } as const;
    addToken(statistics, loss, { logp: -1, oldLogp: -1, advantage: 1, entropy: 0.5 });
    addToken(statistics, loss, { logp: -1, oldLogp: -1.5, advantage: 1, entropy: 1.5 });
    const metrics = toMetrics(statistics, loss);
    expect(metrics['optim/kl_sample_train_v1']).toBeCloseTo(-0.25, 12);
    expect(metrics['optim/kl_sample_train_v2']).toBeCloseTo(0.5 * 0.125, 12);
    expect(metrics['optim/clip_fraction']).toBe(0.5);
    expect(metrics['optim/ratio_mean']).toBeCloseTo((1 + Math.exp(0.5)) / 2, 12);
    expect(metrics['optim/entropy']).toBe(1);
    expect(metrics['optim/tokens']).toBe(2);
  });

  it('say nothing about a sampler where there was none', () => {
    const statistics = noStatistics();
    addToken(
      statistics,
      { name: 'cross_entropy' },
      { logp: -1, oldLogp: Number.NaN, advantage: 1, entropy: 0 },
    );
    expect(toMetrics(statistics, { name: 'cross_entropy' })).toEqual({
      'optim/entropy': 0,
      'optim/tokens': 1,
    });
  });

  it('do not count a token as clipped where its gradient passes', () => {
    const statistics = noStatistics();
    addToken(statistics, { name: 'ppo' }, { logp: -1, oldLogp: -1.5, advantage: -1, entropy: 0 });
    expect(toMetrics(statistics, { name: 'ppo' })['optim/clip_fraction']).toBe(0);
  });
});
