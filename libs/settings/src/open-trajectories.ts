/**
 * A learner keeps them in memory until their step; below the broker's limit of unacknowledged messages (libs/bus).
 */
export const MAX_OPEN_TRAJECTORIES = 10_000;

/** Options that determine how many episodes of a run are played ahead of training. */
export interface Pace {
  maxStepsOffPolicy: number;
  groupsPerBatch: number;
  /** Maximum number of groups without signal that are replaced per batch; 0 = none. */
  maxReplacedGroups: number;
  groupSize: number;
}

/** Maximum number of trajectories that may wait for their batch. */
export function openTrajectories({
  maxStepsOffPolicy,
  groupsPerBatch,
  maxReplacedGroups,
  groupSize,
}: Pace): number {
  return ((maxStepsOffPolicy + 1) * groupsPerBatch + maxReplacedGroups) * groupSize;
}
