/** Share of invalid episodes that raises the alarm, and the minimum number of episodes. */
const ALARM_SHARE = 0.05;
const ALARM_AFTER = 20;

export interface EpisodeCounts {
  trajectories: number;
  invalid: number;
}

/** Raises an alarm when too many episodes fail in the infrastructure; once, until the share has fallen again. */
export class InvalidShareAlarm {
  private raised = false;

  /** The text of the alarm; undefined if none is raised now. */
  update({ trajectories, invalid }: EpisodeCounts): string | undefined {
    const tooMany = trajectories >= ALARM_AFTER && invalid / trajectories > ALARM_SHARE;
    const isNew = tooMany && !this.raised;
    this.raised = tooMany;
    if (!isNew) return undefined;
    return `${invalid} of ${trajectories} training episodes failed in the infrastructure (alarm at ${100 * ALARM_SHARE} %)`;
  }
}
