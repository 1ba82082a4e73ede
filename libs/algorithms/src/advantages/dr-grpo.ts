import type { AdvantageComponent } from '@ui-rl/plugin-kit';
import { perEpisode } from './per-episode';
import { differ, mean } from './statistics';

/** R − mean within the group, "Understanding R1-Zero-like Training"; exactly 0 if all returns are equal. */
export const drGrpo: AdvantageComponent = {
  kind: 'advantage',
  name: 'dr_grpo',
  description: 'The return minus the mean of its group.',
  create: () =>
    perEpisode((rewards_G) => {
      if (!differ(rewards_G)) return rewards_G.map(() => 0);
      const centre = mean(rewards_G);
      return rewards_G.map((reward) => reward - centre);
    }),
};
