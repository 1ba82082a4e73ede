import type { Task } from '@ui-rl/contracts';

/** Groups of a task in a row without a single valid episode after which it is taken out of training. */
const MAX_FAILED_GROUPS = 3;

interface TaskRecord {
  /** When an episode of it was played last, and when a group of it failed last: numbers that only grow. */
  played: number;
  failed: number;
  /** Failed groups in a row, each while other tasks were played. */
  failures: number;
}

/**
 * Which tasks can be played. Where all fail the infrastructure is down, and none of them is to blame; a task that fails time and
 * again while others are played is.
 */
export class TaskHealth {
  private readonly records = new Map<string, TaskRecord>();
  private now = 0;

  /** An episode of the task is valid. */
  played(task: Task): void {
    const record = this.recordOf(task);
    record.played = this.now += 1;
    record.failures = 0;
  }

  /** Whether the last that was heard of other tasks is that they are played. */
  othersArePlayed(task: Task): boolean {
    const others = [...this.records].flatMap(([name, record]) => (name === nameOf(task) ? [] : [record]));
    const last = (times: number[]): number => Math.max(0, ...times);
    return last(others.map(({ played }) => played)) > last(others.map(({ failed }) => failed));
  }

  /** A group of the task has no valid episode. Whether the task is to be taken out. */
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

/** Tasks of a run have an id; those of other origin are told apart by what they ask for. */
export function nameOf({ id, description }: Task): string {
  return id ?? description;
}
