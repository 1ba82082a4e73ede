import { IsBoolean, Max, Min } from 'class-validator';
import { Doc, type AdvantageComponent, type EpisodeExperience, type EpisodeGroup } from '@ui-rl/plugin-kit';
import { rewardsOf } from './per-episode';
import { discountedReturns } from './returns';
import { differ, mean, standardDeviation } from './statistics';

const STD_EPSILON = 1e-8;

export class ReinforcePlusPlusOptions {
  @Doc('coefficient of the KL penalty in the reward of each token')
  @Min(0)
  kl_in_reward = 0.01;

  @Doc('discount γ per token')
  @Min(0)
  @Max(1)
  gamma = 1;

  @Doc('subtract the mean return of the group before the batch is normalised (REINFORCE++-baseline)')
  @IsBoolean()
  group_baseline = false;
}

/**
 * REINFORCE++, Hu et al. 2025 (arXiv:2501.03262), eq. 7 to 9: the reward of a token is that of its turn, if it is the
 * last token, minus kl_in_reward · (log π_sample − log π_base); its return is the discounted sum of future rewards in
 * the episode; advantages are those returns, normalized by mean and standard deviation over all tokens of the batch.
 * 0 if all returns are equal.
 */
export const reinforcePlusPlus: AdvantageComponent<ReinforcePlusPlusOptions> = {
  kind: 'advantage',
  name: 'reinforce_plus_plus',
  description:
    'The return of each token minus its KL divergence from the base model, normalised over all tokens of the batch.',
  options: ReinforcePlusPlusOptions,
  inputs: ['reference_logprobs'],
  minGroupSize: 1,
  // Groups are compared with the whole batch, so a group with equal rewards contributes, too.
  learnsFromEveryGroup: true,
  create: (options) => ({
    estimate: (groups) => {
      const returns = groups.map((group) => returnsOf(group, options));
      const all = returns.flat(2);
      const centre = mean(all);
      const scale = differ(all) ? 1 / (standardDeviation(all) + STD_EPSILON) : 0;
      const advantages = groups.map(({ episodes }, g) =>
        episodes.map((episode, e) =>
          byTurns(
            episode,
            returns[g][e].map((value) => (value - centre) * scale),
          ),
        ),
      );
      return { advantages, metrics: { return_mean: centre } };
    },
  }),
};

/** [episode][token]: discounted future rewards. */
function returnsOf(group: EpisodeGroup, options: ReinforcePlusPlusOptions): number[][] {
  const { gamma, group_baseline } = options;
  const rewards_G = rewardsOf(group);
  const baseline = group_baseline ? mean(rewards_G) : 0;
  return group.episodes.map((episode) => {
    const rewards = tokenRewards(episode, options);
    if (rewards.length > 0) rewards[rewards.length - 1] -= baseline;
    return discountedReturns(rewards, gamma);
  });
}

/**
 * One number per token of the episode, turn after turn; the reward of a turn without tokens goes to the previous
 * token.
 */
function tokenRewards({ turns }: EpisodeExperience, { kl_in_reward }: ReinforcePlusPlusOptions): number[] {
  const rewards: number[] = [];
  let before = 0;
  for (const { reward, logprobs, inputs } of turns) {
    logprobs.forEach((logprob, token) =>
      rewards.push(-kl_in_reward * (logprob - inputs.reference_logprobs![token])),
    );
    if (rewards.length === 0) before += reward;
    else {
      rewards[rewards.length - 1] += reward + before;
      before = 0;
    }
  }
  return rewards;
}

function byTurns({ turns }: EpisodeExperience, tokens: readonly number[]): Float32Array[] {
  let from = 0;
  return turns.map(({ logprobs }) => Float32Array.from(tokens.slice(from, (from += logprobs.length))));
}
