import type { Task } from '@ui-rl/contracts';

/** A task that a source has loaded. */
export type LoadedTask = Task & { id: string };

/** The tasks of one source, which are consecutive. */
export interface TaskPart {
  sourceType: string;
  /** Index of its first task in the list. */
  first: number;
  length: number;
  /** Undefined if the run file sets none. */
  weight?: number | undefined;
}

/** The tasks of a run by index from 0. For long lists, only a few numbers per task are in memory. */
export interface TaskList {
  readonly length: number;
  readonly parts: readonly TaskPart[];
  at(place: number): Promise<LoadedTask>;
  /** The index of an id; undefined if no task has it. */
  placeOf(id: string): Promise<number | undefined>;
  difficultyAt(place: number): Task['difficulty'];
  /** A hash of its goal; NaN if the environment provides the goal. */
  goalHash(place: number): number;
  /** Prerequisites: index → indices of tasks to learn first. */
  readonly prerequisites: ReadonlyMap<number, readonly number[]>;
  /** Number of tasks that the verifier cannot judge, and the first of their ids. */
  readonly unjudged: { count: number; ids: readonly string[] };
  /** Number of tasks that request more turns than the run allows, the first of their ids, and the largest request. */
  readonly cut: { count: number; ids: readonly string[]; longest: number };
  /** Kinds of environments that its tasks name. */
  readonly environments: ReadonlySet<string>;
  close(): Promise<void>;
}
