import type { Reply, Screenshot } from '@ui-rl/contracts';
import type { StepOutcome } from '@ui-rl/plugin-kit';

/** The state that an environment reports; null if it reports none. */
export type State = Record<string, unknown> | null;

/** Time that a session was open, and the part of it without a request; in milliseconds. */
export interface SessionUse {
  openMs: number;
  idleMs: number;
}

/** The environment of one episode, wherever it runs. Failures are thrown as `EpisodeFailure`. */
export interface EpisodeEnvironment {
  readonly firstFrame: Screenshot;
  /** The process that holds the session; undefined if it is unknown. */
  readonly instance?: string | undefined;
  /** The state of the first frame. */
  readonly initialState: State;
  /** Whether the environment handles `finish` as a step. */
  readonly takesFinish?: boolean | undefined;
  /** Executes an action once, even if it has to be requested several times. */
  step(stepId: string, action: object): Promise<StepOutcome>;
  /** Ends the session and returns the state that verifiers judge. */
  close(): Promise<State>;
  /** Usage of the session in milliseconds; undefined until it is closed, or if it is not reported. */
  readonly use?: SessionUse | undefined;
  /** Ends the session without reading its state. Never throws and does not wait. */
  discard(): void;
}

const PASSES = new Set([
  'busy',
  'capacity',
  'crashed',
  'deadline',
  'disconnected',
  'no_responders',
  'no_session',
  'timeout',
]);

/**
 * Whether opening failed temporarily: no capacity, not started yet, shutting down, a slow or crashed browser. Nothing
 * has been played yet, so opening can be retried.
 */
export function mayOpenLater(reply: Reply<unknown>): boolean {
  return !reply.ok && PASSES.has(reply.error.code);
}
