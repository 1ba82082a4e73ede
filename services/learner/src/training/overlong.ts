import type { AdvantageEstimate, AdvantageEstimator, EpisodeGroup } from '@ui-rl/plugin-kit';
import { mean } from '@ui-rl/algorithms';
import { hasLearningSignal } from './learning-signal';

export interface OverlongOptions {
  /** Tokens an answer may have. */
  maxTokens: number;
  /** The last so many of them cost reward. */
  buffer: number;
  /** What an answer that uses all of them loses. */
  penalty: number;
}

/**
 * An estimator that is shown rewards less a soft penalty on long answers, turn by turn: 0 up to maxTokens − buffer, from there in a line to
 * `penalty` at maxTokens (DAPO, arXiv:2503.14476, eq. 13). Rewards that are reported stay as they were earned.
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

/** What an answer of so many tokens loses. */
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
