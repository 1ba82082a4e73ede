import { environmentMetrics, joinSubsteps, optimizerMetrics } from './step-metrics';
import { groupOf, turnOf } from '../../test/groups';

describe('the metrics of a step', () => {
  const rewarded = (index: number, rewards: number[]) =>
    groupOf(
      index,
      rewards.map((reward) => ({
        reward,
        success: reward === 1,
        verdicts: { judge: index < 2 },
        turns: [turnOf(2)],
        idle: { actorMs: 100, playedMs: 300, sessionMs: 250, sessionIdleMs: reward === 1 ? 50 : 200 },
      })),
    );

  it('say what the episodes were like', () => {
    const groups = [rewarded(0, [1, 1]), rewarded(1, [0, 0]), rewarded(2, [1, 0]), rewarded(3, [0, 1])];
    expect(environmentMetrics(groups)).toMatchObject({
      'env/all/reward/total': 0.5,
      'env/all/success': 0.5,
      'env/all/verdict/judge/count': 8,
      'env/all/verdict/judge/agreement': 0.5,
      'env/all/verdict/judge/false_positives': 0.25,
      'env/all/by_group/frac_mixed': 0.5,
      'env/all/by_group/frac_all_good': 0.25,
      'env/all/by_group/frac_all_bad': 0.25,
      'env/all/turns_per_episode': 1,
      'env/all/ac_tokens_per_turn': 2,
      'idle_ratio/actors': 0.25,
      'idle_ratio/environments': 0.5,
    });
  });

  it('add up over the parts of a batch', () => {
    const joined = joinSubsteps([
      { 'optim/tokens': 10, 'optim/loss': 1, 'optim/ratio_max': 2 },
      { 'optim/tokens': 5, 'optim/loss': 3, 'optim/ratio_max': 1 },
    ]);
    expect(joined).toEqual({ 'optim/tokens': 15, 'optim/loss': 2, 'optim/ratio_max': 2 });
  });

  it('say of the first optimizer step whether sampler and trainer agree: after it the weights are others', () => {
    const compared = (trained: number) =>
      optimizerMetrics({}, [{ sampled: [-1, -1], trained: [trained, -1] }]);
    const joined = joinSubsteps([compared(-1), compared(-3)]);
    expect(joined).toMatchObject({
      'optim/kl_sample_train_v1': 0,
      'optim/kl_sample_train_v2': 0,
      'optim/logp_difference_max': 0,
    });
    expect(joined['optim/ratio_mean']).toBeLessThan(1);
  });

  it('have the names by which they are known, those of a loss included', () => {
    const engine = { loss: 2, passes: 3, 'loss/clip_fraction': 0.5, grad_norm: 1 };
    expect(optimizerMetrics(engine, [{ sampled: [-1], trained: [-2] }])).toMatchObject({
      'optim/loss': 2,
      'optim/micro_batches': 3,
      'optim/clip_fraction': 0.5,
      'optim/grad_norm': 1,
      'optim/kl_sample_train_v1': 1,
    });
  });
});
