import type { AdvantageComponent } from '@ui-rl/plugin-kit';
import { perEpisode } from './per-episode';
import { differ, mean } from './statistics';

/**
 * R − mean of the other episodes of the group, Ahmadian et al. 2024 (arXiv:2402.14740), eq. 8: a baseline that does
 * not depend on the episode itself. It is `dr_grpo` times n / (n − 1) for groups of n episodes; 0 for a single one.
 */
export const rloo: AdvantageComponent = {
  kind: 'advantage',
  name: 'rloo',
  description: 'The return minus the mean of the other episodes of its group.',
  create: () =>
    perEpisode((rewards_G) => {
      if (!differ(rewards_G)) return rewards_G.map(() => 0);
      const centre = mean(rewards_G);
      const others = rewards_G.length / (rewards_G.length - 1);
      return rewards_G.map((reward) => (reward - centre) * others);
    }),
};
