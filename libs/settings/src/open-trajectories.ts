import type { RunFile } from './run-file';

/**
 * A learner keeps them in memory until their step; below the broker's limit of unacknowledged messages (libs/bus).
 */
export const MAX_OPEN_TRAJECTORIES = 10_000;

/** Maximum number of trajectories that may wait for their batch. */
export function openTrajectories(run: Pick<RunFile, 'algorithm' | 'async' | 'rollout' | 'training'>): number {
  const { async: pace, rollout, training } = run;
  const trained = (pace.max_steps_off_policy + 1) * training.groups_per_batch;
  return (trained + replacedGroups(run.algorithm)) * rollout.group_size;
}

/** Maximum number of groups without signal that are replaced per batch; 0 = none. */
export function replacedGroups(
  algorithm: Pick<RunFile['algorithm'], 'dynamic_sampling' | 'dynamic_sampling_limit'>,
): number {
  return algorithm.dynamic_sampling ? algorithm.dynamic_sampling_limit : 0;
}
