import type { EpisodeGroup } from '@ui-rl/plugin-kit';

/** Decay of earlier measurements with each batch that contains the task. */
const DECAY = 0.9;

/** Successes and episodes of a task, with decayed weights for earlier batches. */
interface Count {
  successes: number;
  episodes: number;
}

/** The state between batches, as JSON. */
export interface StoredMemory {
  tasks: [name: string, successes: number, episodes: number][];
  /** Rollout ids of kept episodes, oldest first, and the number of batches in which each was replayed. */
  kept: [rolloutId: string, task: string, replays: number][];
}

export function nameOf({ task: { id, description } }: EpisodeGroup): string {
  return id ?? description;
}

/** Measured success rates of tasks. */
export class SuccessRates {
  private readonly counts: Map<string, Count>;

  constructor(stored: StoredMemory['tasks'] = []) {
    this.counts = new Map(stored.map(([name, successes, episodes]) => [name, { successes, episodes }]));
  }

  /** Adds the measurements of a batch, over all groups that were played for it. */
  add(measured: ReadonlyMap<string, Count>): void {
    for (const [name, { successes, episodes }] of measured) {
      const before = this.counts.get(name) ?? { successes: 0, episodes: 0 };
      this.counts.set(name, {
        successes: DECAY * before.successes + successes,
        episodes: DECAY * before.episodes + episodes,
      });
    }
  }

  /** The failure rate of a task, never exactly 0 or 1: (failures + 1) / (episodes + 2). */
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

/** Successes kept for later batches: limited in number, with those of rare tasks kept longest. */
export class SuccessBuffer {
  private kept: Kept[];

  /** @param size maximum number of episodes */
  constructor(
    private readonly size: number,
    stored: StoredMemory['kept'] = [],
  ) {
    this.kept = stored.map(([rolloutId, task, replays]) => ({ rolloutId, task, replays }));
  }

  get rolloutIds(): string[] {
    return this.kept.map(({ rolloutId }) => rolloutId);
  }

  /** Adds successes. If there are too many, drops the oldest of the task that has the most. */
  add(successes: readonly { rolloutId: string; task: string }[]): void {
    this.kept.push(...successes.map((success) => ({ ...success, replays: 0 })));
    while (this.kept.length > this.size) this.kept.splice(this.leastWanted(), 1);
  }

  /**
   * Selects episodes to train on again: the least replayed ones first, then those of the tasks that fail most, then
   * the oldest.
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
