import { IsBoolean, IsNumber } from 'class-validator';
import { Doc, type AdvantageComponent } from '@ui-rl/plugin-kit';
import { perEpisode, rewardsOf } from './per-episode';

export class RejectionSamplingOptions {
  @Doc('episodes whose return exceeds it are kept')
  @IsNumber()
  reward_threshold = 0;

  @Doc('of those only the best of each group')
  @IsBoolean()
  best_of_group = false;
}

/** Chooses the episodes whose return is high enough; their sampled tokens are imitated. */
export const rejectionSampling: AdvantageComponent<RejectionSamplingOptions> = {
  kind: 'advantage',
  name: 'rejection_sampling',
  description: 'Imitates the episodes whose return exceeds a threshold.',
  options: RejectionSamplingOptions,
  gives: 'selection',
  create: ({ reward_threshold, best_of_group }) => {
    const select = (rewards_G: readonly number[]): (1 | null)[] => {
      const best = Math.max(...rewards_G);
      return rewards_G.map((reward) =>
        reward > reward_threshold && (!best_of_group || reward === best) ? 1 : null,
      );
    };
    return {
      ...perEpisode(select),
      hasLearningSignal: (group) => select(rewardsOf(group)).includes(1),
    };
  },
};
