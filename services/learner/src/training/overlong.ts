import type { AdvantageEstimate, AdvantageEstimator, EpisodeGroup } from '@ui-rl/plugin-kit';
import { mean } from '@ui-rl/algorithms';
import { hasLearningSignal } from './learning-signal';

export interface OverlongOptions {
  /** Maximum number of tokens in an answer. */
  maxTokens: number;
  /** Number of last tokens that are penalized. */
  buffer: number;
  /** Penalty of an answer that uses all of them. */
  penalty: number;
}

/**
 * An estimator that receives rewards with a soft penalty on long answers, turn by turn: 0 up to maxTokens − buffer,
 * then linear up to `penalty` at maxTokens (DAPO, arXiv:2503.14476, eq. 13). Reported rewards are unchanged.
 */
export function withOverlongPenalty(
  estimator: AdvantageEstimator,
  options: OverlongOptions,
): AdvantageEstimator {
  return {
    estimate(groups, memory, untrained = []): AdvantageEstimate {
      const [shaped, others] = [groups, untrained].map((all) =>
        all.map((group) => shapedGroup(group, options)),
      );
      const estimate = estimator.estimate(shaped, memory, others);
      const lost = groups.flatMap(({ episodes }, g) =>
        episodes.map(({ reward }, e) => reward - shaped[g].episodes[e].reward),
      );
      return { ...estimate, metrics: { ...estimate.metrics, overlong_penalty: mean(lost) } };
    },
    hasLearningSignal: (group) => hasLearningSignal(estimator, shapedGroup(group, options)),
  };
}

/** The penalty of an answer with this many tokens. */
export function overlongPenalty(tokens: number, { maxTokens, buffer, penalty }: OverlongOptions): number {
  const over = tokens - (maxTokens - buffer);
  return penalty * Math.min(1, Math.max(0, over / buffer));
}

function shapedGroup(group: EpisodeGroup, options: OverlongOptions): EpisodeGroup {
  const episodes = group.episodes.map((episode) => {
    const lost = episode.turns.map(({ logprobs }) => overlongPenalty(logprobs.length, options));
    return {
      ...episode,
      reward: episode.reward - lost.reduce((sum, each) => sum + each, 0),
      turns: episode.turns.map((turn, index) => ({ ...turn, reward: turn.reward - lost[index] })),
    };
  });
  return { ...group, episodes };
}
