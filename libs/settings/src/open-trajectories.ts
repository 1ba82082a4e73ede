/** Unacknowledged messages the broker hands out to one consumer, and pull requests it lets wait: 512 by default. */
export const MAX_OPEN_TRAJECTORIES = 500;

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
