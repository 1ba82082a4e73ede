import { DEADLINES, RETRIES } from '@ui-rl/retry';

/** How long the actor waits for services that do not answer. */
export interface Timeouts {
  /** For an environment that has no room or does not listen yet. */
  openMs: number;
  /** For one `env.open` that runs. */
  openDeadlineMs: number;
  /** For one `env.step` that runs. */
  stepDeadlineMs: number;
  /** For the service that holds a session and does not answer; after that the session is lost. */
  sessionMs: number;
  /** For one answer of the policy; then it is requested again, until the turn's time is over. */
  policyMs: number;
  /** The session ends by itself when no request comes for so long. */
  leaseMs: number;
  /** Times an episode begins again because its session was lost. */
  restarts: number;
}

export const TIMEOUTS: Timeouts = {
  openMs: RETRIES.environmentOpen.withinMs,
  openDeadlineMs: 30_000,
  stepDeadlineMs: 15_000,
  sessionMs: DEADLINES.environmentGone.ms,
  policyMs: DEADLINES.policy.ms,
  leaseMs: 60_000,
  restarts: RETRIES.episode.attempts - 1,
};
