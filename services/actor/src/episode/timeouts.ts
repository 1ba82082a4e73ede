import { DEADLINES, RETRIES } from '@ui-rl/retry';

/** Time limits of the actor for services that do not answer, in ms. */
export interface Timeouts {
  /** For an environment without capacity or without a listener. */
  openMs: number;
  /** For one `env.open` in progress. */
  openDeadlineMs: number;
  /** For one `env.step` in progress. */
  stepDeadlineMs: number;
  /** For a silent service that holds a session; afterwards the session counts as lost. */
  sessionMs: number;
  /** For one answer of the policy; then it is requested again, until the turn's deadline. */
  policyMs: number;
  /** The session ends after this time without a request. */
  leaseMs: number;
  /** Maximum number of restarts of an episode after a lost session. */
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
