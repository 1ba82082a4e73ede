import type { EpisodeGroup } from '@ui-rl/plugin-kit';

/** By how much what was measured before counts less with each batch that has the task. */
const DECAY = 0.9;

/** Of a task: successes and episodes, those of earlier batches counting less. */
interface Count {
  successes: number;
  episodes: number;
}

/** What is remembered from batch to batch, as JSON. */
export interface StoredMemory {
  tasks: [name: string, successes: number, episodes: number][];
  /** Rollout ids of kept episodes, oldest first, and in how many batches each was trained again. */
  kept: [rolloutId: string, task: string, replays: number][];
}

export function nameOf({ task: { id, description } }: EpisodeGroup): string {
  return id ?? description;
}

/** How often tasks succeed, as measured so far. */
export class SuccessRates {
  private readonly counts: Map<string, Count>;

  constructor(stored: StoredMemory['tasks'] = []) {
    this.counts = new Map(stored.map(([name, successes, episodes]) => [name, { successes, episodes }]));
  }

  /** Adds what was measured of a batch, in all groups that were played for it. */
  add(measured: ReadonlyMap<string, Count>): void {
    for (const [name, { successes, episodes }] of measured) {
      const before = this.counts.get(name) ?? { successes: 0, episodes: 0 };
      this.counts.set(name, {
        successes: DECAY * before.successes + successes,
        episodes: DECAY * before.episodes + episodes,
      });
    }
  }

  /** The share of a task's episodes that fail, never quite 0 or 1: (failures + 1) / (episodes + 2). */
  failureRate(name: string): number {
    const { successes, episodes } = this.counts.get(name) ?? { successes: 0, episodes: 0 };
    return (episodes - successes + 1) / (episodes + 2);
  }

  toStored(): StoredMemory['tasks'] {
    return Array.from(this.counts, ([name, { successes, episodes }]) => [name, successes, episodes]);
  }
}

interface Kept {
  rolloutId: string;
  task: string;
  replays: number;
}

/** Successes that are kept for later batches: so many at most, and those of rare tasks longest. */
export class SuccessBuffer {
  private kept: Kept[];

  /** @param size episodes at most */
  constructor(
    private readonly size: number,
    stored: StoredMemory['kept'] = [],
  ) {
    this.kept = stored.map(([rolloutId, task, replays]) => ({ rolloutId, task, replays }));
  }

  get rolloutIds(): string[] {
    return this.kept.map(({ rolloutId }) => rolloutId);
  }

  /** Keeps further successes. Of the task that has the most the oldest goes where there are too many. */
  add(successes: readonly { rolloutId: string; task: string }[]): void {
    this.kept.push(...successes.map((success) => ({ ...success, replays: 0 })));
    while (this.kept.length > this.size) this.kept.splice(this.leastWanted(), 1);
  }

  /**
   * Chooses so many to be trained again: those that were least often, of them those of the tasks that fail most, of them the oldest.
   * @returns their rollout ids
   */
  replay(count: number, rates: SuccessRates): Set<string> {
    const chosen = this.kept
      .map((kept, age) => ({ kept, age, failure: rates.failureRate(kept.task) }))
      .toSorted((a, b) => a.kept.replays - b.kept.replays || b.failure - a.failure || a.age - b.age)
      .slice(0, count);
    for (const { kept } of chosen) kept.replays += 1;
    return new Set(chosen.map(({ kept }) => kept.rolloutId));
  }

  toStored(): StoredMemory['kept'] {
    return this.kept.map(({ rolloutId, task, replays }) => [rolloutId, task, replays]);
  }

  private leastWanted(): number {
    const counts = new Map<string, number>();
    for (const { task } of this.kept) counts.set(task, (counts.get(task) ?? 0) + 1);
    const most = Math.max(...counts.values());
    return this.kept.findIndex(({ task }) => counts.get(task) === most);
  }
}
