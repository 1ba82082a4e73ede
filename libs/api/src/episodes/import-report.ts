import type { Trajectory } from '@ui-rl/contracts';

/** Steps or trajectories that an import left out for one reason. */
export interface LeftOut {
  reason: string;
  count: number;
  /** Place of the first one. */
  example: string;
}

export interface ImportedFile {
  path: string;
  episodes: number;
  turns: number;
  images: number;
  bytes: number;
  /** Steps, most frequent reason first. */
  stepsLeftOut: LeftOut[];
  /** Whole trajectories. */
  trajectoriesLeftOut: LeftOut[];
}

/** Counts what an import wrote and what it could not express. */
export class ImportReport {
  episodes = 0;
  private turns = 0;
  private trajectories = 0;
  private readonly images = new Set<string>();
  private readonly steps = new Map<string, LeftOut>();
  private readonly dropped = new Map<string, LeftOut>();

  /** Number of trajectories so far. */
  get read(): number {
    return this.trajectories;
  }

  leaveOut(reason: string, place: string, count = 1): void {
    note(this.steps, reason, place, count);
  }

  drop(reason: string, place: string): undefined {
    this.trajectories += 1;
    note(this.dropped, reason, place, 1);
  }

  /** Returns the screenshots that no earlier episode has. */
  add({ turns }: Trajectory): string[] {
    this.trajectories += 1;
    this.episodes += 1;
    this.turns += turns.length;
    const own = [...new Set(turns.flatMap(({ promptImages }) => promptImages))];
    const unknown = own.filter((hash) => !this.images.has(hash));
    unknown.forEach((hash) => this.images.add(hash));
    return unknown;
  }

  /** @throws Error if nothing was written */
  file(path: string, bytes: number): ImportedFile {
    const [stepsLeftOut, trajectoriesLeftOut] = [this.steps, this.dropped].map(sorted);
    const { episodes, turns, images } = this;
    if (episodes > 0)
      return { path, episodes, turns, images: images.size, bytes, stepsLeftOut, trajectoriesLeftOut };
    const [first] = [...stepsLeftOut, ...trajectoriesLeftOut];
    const why = first === undefined ? '' : `, most often because of ${first.reason} (${first.example})`;
    throw new Error(`no trajectory could be imported: ${this.trajectories} read${why}`);
  }
}

function note(reasons: Map<string, LeftOut>, reason: string, example: string, count: number): void {
  const known = reasons.get(reason) ?? { reason, count: 0, example };
  reasons.set(reason, { ...known, count: known.count + count });
}

function sorted(reasons: ReadonlyMap<string, LeftOut>): LeftOut[] {
  return [...reasons.values()].toSorted((a, b) => b.count - a.count);
}
