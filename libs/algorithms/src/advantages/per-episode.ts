import type { AdvantageEstimator, EpisodeExperience, EpisodeGroup } from '@ui-rl/plugin-kit';
import { AlgorithmError } from '../errors';

/** One number per episode of a group, or null to exclude it from training. Receives the returns of the group. */
export type EpisodeWeigher = (rewards_G: readonly number[]) => readonly (number | null)[];

/** An estimator that only uses returns within groups, and gives all tokens of an episode the same number. */
export function perEpisode(weigh: EpisodeWeigher): AdvantageEstimator {
  return {
    estimate: (groups) => ({
      advantages: groups.map((group) => forEpisodes(group, weigh(rewardsOf(group)))),
    }),
  };
}

/** Returns of a group, in the order of its episodes. Throws an `AlgorithmError` that names an episode without one. */
export function rewardsOf(group: EpisodeGroup): number[] {
  return group.episodes.map(({ rolloutId, reward }) => {
    if (Number.isFinite(reward)) return reward;
    throw new AlgorithmError('shape', `episode ${rolloutId} has reward ${reward}, expected a finite number`);
  });
}

/** Assigns each episode's number to all of its tokens. */
export function forEpisodes(
  group: EpisodeGroup,
  numbers_G: readonly (number | null)[],
): (Float32Array[] | null)[] {
  return group.episodes.map((episode, index) => {
    const number = numbers_G[index];
    return number === null ? null : forAllTokens(episode, number);
  });
}

function forAllTokens({ turns }: EpisodeExperience, number: number): Float32Array[] {
  return turns.map(({ logprobs }) => new Float32Array(logprobs.length).fill(number));
}
