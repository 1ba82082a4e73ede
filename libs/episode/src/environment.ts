import type { Reply, Screenshot } from '@ui-rl/contracts';
import type { StepOutcome } from '@ui-rl/plugin-kit';

/** What an environment reports of itself; null where it reports nothing. */
export type State = Record<string, unknown> | null;

/** How long a session was open, and how long of that nothing was asked of it; in milliseconds. */
export interface SessionUse {
  openMs: number;
  idleMs: number;
}

/** The environment of one episode, wherever it runs. What fails there is thrown as an `EpisodeFailure`. */
export interface EpisodeEnvironment {
  readonly firstFrame: Screenshot;
  /** The state of the first frame. */
  readonly initialState: State;
  /** Whether `finish` is to be executed, too. */
  readonly takesFinish?: boolean | undefined;
  /** Executes an action once, however often it has to be asked for. */
  step(stepId: string, action: object): Promise<StepOutcome>;
  /** Ends the session; the state that verifiers judge. */
  close(): Promise<State>;
  /** How it was used, in milliseconds; undefined until it was closed, or where it does not say. */
  readonly use?: SessionUse | undefined;
  /** Ends the session without interest in its state. Never throws and does not wait. */
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
 * Whether opening failed for what passes: no room, not started yet, about to stop, a browser that is slow or crashed. Nothing was
 * played yet, so it can be tried again.
 */
export function mayOpenLater(reply: Reply<unknown>): boolean {
  return !reply.ok && PASSES.has(reply.error.code);
}
