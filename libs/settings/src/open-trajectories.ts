/** A learner keeps them in memory until their step; fewer than a consumer's places at the broker (libs/bus). */
export const MAX_OPEN_TRAJECTORIES = 10_000;

/** What decides how many episodes of a run are played ahead of its training. */
export interface Pace {
  maxStepsOffPolicy: number;
  groupsPerBatch: number;
  /** Groups without signal that are replaced by others per batch; 0 = none. */
  maxReplacedGroups: number;
  groupSize: number;
}

/** Trajectories that may wait for their batch at the same time. */
export function openTrajectories({
  maxStepsOffPolicy,
  groupsPerBatch,
  maxReplacedGroups,
  groupSize,
}: Pace): number {
  return ((maxStepsOffPolicy + 1) * groupsPerBatch + maxReplacedGroups) * groupSize;
}
