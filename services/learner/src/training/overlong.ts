import type { AdvantageEstimate, AdvantageEstimator, EpisodeGroup } from '@ui-rl/plugin-kit';
import { mean } from '@ui-rl/algorithms';
import type { AlgorithmGroup } from '@ui-rl/settings';
import { hasLearningSignal } from './learning-signal';

/** The options of the penalty; `overlong_penalty` is 1 by default. */
export type OverlongOptions = Pick<AlgorithmGroup, 'overlong_buffer' | 'overlong_penalty'>;

/**
 * An estimator that receives rewards with a soft penalty on long answers, turn by turn: 0 up to maxTokens −
 * overlong_buffer, then linear up to overlong_penalty at maxTokens (DAPO, arXiv:2503.14476, eq. 13). Reported rewards are unchanged.
 * @param maxTokens maximum number of tokens in an answer
 */
export function withOverlongPenalty(
  estimator: AdvantageEstimator,
  options: OverlongOptions,
  maxTokens: number,
): AdvantageEstimator {
  const shapedGroup = (group: EpisodeGroup): EpisodeGroup => penalized(group, options, maxTokens);
  return {
    estimate(groups, memory, untrained = []): AdvantageEstimate {
      const [shaped, others] = [groups, untrained].map((all) => all.map((group) => shapedGroup(group)));
      const estimate = estimator.estimate(shaped, memory, others);
      const lost = groups.flatMap(({ episodes }, g) =>
        episodes.map(({ reward }, e) => reward - shaped[g].episodes[e].reward),
      );
      return { ...estimate, metrics: { ...estimate.metrics, overlong_penalty: mean(lost) } };
    },
    hasLearningSignal: (group, memory) => hasLearningSignal(estimator, shapedGroup(group), memory),
  };
}

/** The penalty of an answer with this many tokens. */
export function overlongPenalty(
  tokens: number,
  { overlong_buffer: buffer, overlong_penalty: penalty = 1 }: OverlongOptions,
  maxTokens: number,
): number {
  const over = tokens - (maxTokens - buffer);
  return penalty * Math.min(1, Math.max(0, over / buffer));
}

function penalized(group: EpisodeGroup, options: OverlongOptions, maxTokens: number): EpisodeGroup {
  const episodes = group.episodes.map((episode) => {
    const lost = episode.turns.map(({ logprobs }) => overlongPenalty(logprobs.length, options, maxTokens));
    return {
      ...episode,
      reward: episode.reward - lost.reduce((sum, each) => sum + each, 0),
      turns: episode.turns.map((turn, index) => ({ ...turn, reward: turn.reward - lost[index] })),
    };
  });
  return { ...group, episodes };
}
