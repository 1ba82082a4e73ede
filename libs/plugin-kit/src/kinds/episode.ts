import type { Action } from '@ui-rl/actions';
import type { Task, TrajectoryStatus } from '@ui-rl/contracts';

/** A screenshot whose bytes are loaded on demand. */
export interface Observation {
  /** Hex sha256 of the PNG. */
  sha256: string;
  /** Pixels. */
  width: number;
  height: number;
  /** The screen as text, if the environment reports it. */
  text?: string;
  /** The PNG. Rejects if it is no longer available. */
  png(): Promise<Uint8Array>;
}

export interface EpisodeTurn {
  /** From 0. */
  index: number;
  /** The policy's input. */
  observation: Observation;
  /** The policy's answer. */
  text: string;
  /** The executed actions of the answer, in order; empty if the answer could not be parsed. */
  actions: readonly Action[];
  /** Why the answer could not be parsed. */
  parseError?: string;
  /** The environment's result of the last action: `ok`, or an error. */
  outcome?: string;
  /** The environment's state before the turn; undefined if it reports none between the first frame and the end. */
  stateBefore?: Record<string, unknown>;
  /** The state after the turn. */
  stateAfter?: Record<string, unknown>;
}

/**
 * A finished episode as verifiers and rewards see it. Episodes whose infrastructure failed are never passed to them.
 */
export interface Episode {
  task: Task;
  /** Seed of the environment's initial state. */
  seed: number;
  status: Exclude<TrajectoryStatus, 'invalid'>;
  turns: readonly EpisodeTurn[];
  /** The screen after the last action. */
  finalObservation: Observation;
  /** The environment's initial state; null if it reports none. */
  stateBefore: Record<string, unknown> | null;
  /** The environment's final state; null if it reports none. */
  stateAfter: Record<string, unknown> | null;
}
