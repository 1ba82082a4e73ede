import type { AdvantageComponent } from '@ui-rl/plugin-kit';
import { perEpisode } from './per-episode';
import { differ, mean, standardDeviation } from './statistics';

const STD_EPSILON = 1e-6;

/** (R − mean) / (std + 1e-6) within the group, DeepSeekMath eq. 3; exactly 0 if all returns are equal. */
export const grpo: AdvantageComponent = {
  kind: 'advantage',
  name: 'grpo',
  description: 'The return minus the mean of its group, divided by the standard deviation of the group.',
  create: () =>
    perEpisode((rewards_G) => {
      if (!differ(rewards_G)) return rewards_G.map(() => 0);
      const centre = mean(rewards_G);
      const scale = standardDeviation(rewards_G) + STD_EPSILON;
      return rewards_G.map((reward) => (reward - centre) / scale);
    }),
};
