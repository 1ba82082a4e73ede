import { differ } from '@ui-rl/algorithms';
import type { AdvantageEstimator, EpisodeGroup } from '@ui-rl/plugin-kit';

/**
 * Whether training on a group would change the policy, according to the estimator; by default, whether its rewards
 * differ.
 * @param memory of the previous batch
 */
export function hasLearningSignal(
  estimator: AdvantageEstimator,
  group: EpisodeGroup,
  memory?: unknown,
): boolean {
  return estimator.hasLearningSignal?.(group, memory) ?? differ(group.episodes.map(({ reward }) => reward));
}
