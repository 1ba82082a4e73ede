import type { PlayedEnvironment, RolloutRequest } from '@ui-rl/contracts';
import type { EpisodeEnvironment } from './environment';

/** The environment of an episode for its record, when it has just been opened. */
export function playedEnvironment(
  { task }: RolloutRequest,
  { firstFrame, instance }: EpisodeEnvironment,
): PlayedEnvironment {
  const { width, height } = firstFrame;
  return {
    kind: task.environment?.kind ?? 'unknown',
    instance,
    ...{ width, height, openedAt: new Date().toISOString() },
  };
}
