import type { Action } from '@ui-rl/actions';
import type { Task, TrajectoryStatus } from '@ui-rl/contracts';

/** A screenshot, its bytes on demand. */
export interface Observation {
  /** sha256 of the PNG, hex. */
  sha256: string;
  /** Pixels. */
  width: number;
  height: number;
  /** The screen as text, where the environment told it. */
  text?: string;
  /** The PNG. Rejects where it cannot be had any more. */
  png(): Promise<Uint8Array>;
}

export interface EpisodeTurn {
  /** From 0. */
  index: number;
  /** What the policy saw. */
  observation: Observation;
  /** What it answered. */
  text: string;
  /** The actions of the answer that were carried out, in order; none where it could not be read. */
  actions: readonly Action[];
  /** Why the answer could not be read. */
  parseError?: string;
  /** What the environment said of the last action: `ok`, or what was wrong with it. */
  outcome?: string;
  /** The environment's state before the turn; absent where it reports none between the first frame and the end. */
  stateBefore?: Record<string, unknown>;
  /** And after it. */
  stateAfter?: Record<string, unknown>;
}

/** An episode that is over, as verifiers and rewards see it. Episodes whose infrastructure failed never get here. */
export interface Episode {
  task: Task;
  /** Seed of the environment's first state. */
  seed: number;
  status: Exclude<TrajectoryStatus, 'invalid'>;
  turns: readonly EpisodeTurn[];
  /** The screen after the last action. */
  finalObservation: Observation;
  /** What the environment reported of its state when it opened; null where it reports none. */
  stateBefore: Record<string, unknown> | null;
  /** And at the end. */
  stateAfter: Record<string, unknown> | null;
}
