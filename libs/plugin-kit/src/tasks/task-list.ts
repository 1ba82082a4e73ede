import type { Task } from '@ui-rl/contracts';

/** A task that a source has loaded. */
export type LoadedTask = Task & { id: string };

/** The tasks of one source, which lie one after the other. */
export interface TaskPart {
  sourceType: string;
  /** Place of its first task in the list. */
  first: number;
  length: number;
  /** Undefined where the run file says none. */
  weight?: number | undefined;
}

/** The tasks of a run, by their places from 0. Of many of them little more than a few numbers each is in memory. */
export interface TaskList {
  readonly length: number;
  readonly parts: readonly TaskPart[];
  at(place: number): Promise<LoadedTask>;
  /** The place of an id; undefined where no task has it. */
  placeOf(id: string): Promise<number | undefined>;
  difficultyAt(place: number): Task['difficulty'];
  /** A number of its goal; NaN where the environment says it. */
  goalHash(place: number): number;
  /** Places of tasks that are to be learnt before others: place → places. */
  readonly prerequisites: ReadonlyMap<number, readonly number[]>;
  /** How many the verifier cannot judge, and the ids of the first of them. */
  readonly unjudged: { count: number; ids: readonly string[] };
  /** How many ask for more turns than the run allows, the ids of the first of them, and the most turns that one asks for. */
  readonly cut: { count: number; ids: readonly string[]; longest: number };
  close(): Promise<void>;
}
