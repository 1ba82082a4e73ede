import { Max, Min } from 'class-validator';
import { Doc, type AdvantageComponent, type EpisodeExperience, type EpisodeGroup } from '@ui-rl/plugin-kit';
import { AlgorithmError } from '../errors';
import { rewardsOf } from './per-episode';

export class GaeOptions {
  @Doc('discount γ per token')
  @Min(0)
  @Max(1)
  gamma = 0.99;

  @Doc('GAE λ: 1 uses full returns, 0 bootstraps from the next value of the critic')
  @Min(0)
  @Max(1)
  gae_lambda = 0.95;
}

/**
 * Generalized advantage estimation, Schulman et al. 2016, eq. 16: A_t = Σ (γλ)^k δ_{t+k} with δ_t = r_t + γV_{t+1} −
 * V_t, over the consecutive sampled tokens of an episode. A turn's reward belongs to its last token; the next token
 * is the first one of the next turn, across any text that the environment wrote in between. The value after the last
 * token is 0, even if the episode was truncated: the turn limit is part of the task. Returns are A_t + V_t.
 */
export const gae: AdvantageComponent<GaeOptions> = {
  kind: 'advantage',
  name: 'gae',
  description: 'Generalized advantage estimation (GAE, Schulman et al. 2015) with the values of a critic.',
  options: GaeOptions,
  inputs: ['values'],
  givesReturns: true,
  defaultLoss: 'ppo',
  minGroupSize: 1,
  // Episodes are compared with the critic, which learns from all of them.
  learnsFromEveryGroup: true,
  create: (options) => ({
    estimate: (groups) => {
      const estimates = groups.map((group) => estimateGroup(group, options));
      return {
        advantages: estimates.map((group) => group.map(({ advantages }) => advantages)),
        returns: estimates.map((group) => group.map(({ returns }) => returns)),
      };
    },
  }),
};

interface EpisodeEstimate {
  /** [turn][token] each */
  advantages: Float32Array[];
  returns: Float32Array[];
}

function estimateGroup(group: EpisodeGroup, options: GaeOptions): EpisodeEstimate[] {
  rewardsOf(group);
  return group.episodes.map((episode) => estimateEpisode(episode, options));
}

function estimateEpisode({ rolloutId, turns }: EpisodeExperience, options: GaeOptions): EpisodeEstimate {
  const { gamma, gae_lambda: lambda } = options;
  const advantages = turns.map(({ logprobs }) => new Float32Array(logprobs.length));
  const returns = turns.map(({ logprobs }) => new Float32Array(logprobs.length));
  let [nextValue, nextAdvantage, reward] = [0, 0, 0];
  for (let turn = turns.length - 1; turn >= 0; turn -= 1) {
    const values = valuesOf(
      turns[turn].inputs.values,
      advantages[turn].length,
      `turn ${turn} of ${rolloutId}`,
    );
    // The reward of a turn without tokens goes to the previous token.
    reward += turns[turn].reward;
    for (let token = values.length - 1; token >= 0; token -= 1) {
      const error = reward + gamma * nextValue - values[token];
      nextAdvantage = error + gamma * lambda * nextAdvantage;
      nextValue = values[token];
      reward = 0;
      advantages[turn][token] = nextAdvantage;
      returns[turn][token] = nextAdvantage + nextValue;
    }
  }
  return { advantages, returns };
}

function valuesOf(values: Float32Array | undefined, tokens: number, where: string): Float32Array {
  if (values?.length === tokens) return values;
  throw new AlgorithmError(
    'shape',
    `${where} has ${values?.length ?? 'no'} values, expected ${tokens}, one per sampled token`,
  );
}
