import type { Task } from '@ui-rl/contracts';

/** Number of consecutive groups of a task without a valid episode after which it is excluded from training. */
const MAX_FAILED_GROUPS = 3;

interface TaskRecord {
  /** When an episode of it was last played, and when a group of it last failed: increasing numbers. */
  played: number;
  failed: number;
  /** Consecutive failed groups, each while other tasks succeeded. */
  failures: number;
}

/**
 * Decides which tasks are playable. If all fail, the infrastructure is down, and no task is at fault; a task that
 * fails repeatedly while others succeed is at fault.
 */
export class TaskHealth {
  private readonly records = new Map<string, TaskRecord>();
  private now = 0;

  /** Records a valid episode of the task. */
  played(task: Task): void {
    const record = this.recordOf(task);
    record.played = this.now += 1;
    record.failures = 0;
  }

  /** Whether the latest outcomes of other tasks are valid episodes. */
  othersArePlayed(task: Task): boolean {
    const others = [...this.records].flatMap(([name, record]) => (name === nameOf(task) ? [] : [record]));
    const last = (times: number[]): number => Math.max(0, ...times);
    return last(others.map(({ played }) => played)) > last(others.map(({ failed }) => failed));
  }

  /** Records a group of the task without a valid episode. Returns whether to exclude the task. */
  failed(task: Task): boolean {
    const record = this.recordOf(task);
    if (this.othersArePlayed(task)) record.failures += 1;
    record.failed = this.now += 1;
    return record.failures >= MAX_FAILED_GROUPS;
  }

  private recordOf(task: Task): TaskRecord {
    const name = nameOf(task);
    const record = this.records.get(name) ?? { played: 0, failed: 0, failures: 0 };
    this.records.set(name, record);
    return record;
  }
}

/** Tasks of a run have an id; others are distinguished by their description. */
export function nameOf({ id, description }: Task): string {
  return id ?? description;
}
