import type { Dialect, PromptStyle } from '@ui-rl/actions';
import type { Reward, Verifier } from '@ui-rl/plugin-kit';
import { DEADLINES, RETRIES } from '@ui-rl/retry';

/** A component that a run uses, and how messages name it. */
export interface Named<Instance> {
  name: string;
  instance: Instance;
}

/** How the episodes of a run are played. */
export interface EpisodePlan {
  /** Turns after which an episode is truncated, unless the task allows fewer. */
  maxTurns: number;
  /** Turns the policy reads, the present one included. */
  historyTurns: number;
  maxTokens: number;
  temperature: number;
  topP: number;
  promptStyle: PromptStyle;
  dialect: Named<Dialect>;
  verifier: Named<Verifier>;
  rewards: readonly Named<Reward>[];
  /** For one turn: the policy's answer and its actions, retries included; and for one call of a verifier or reward. */
  turnTimeoutMs: number;
  /** For the whole episode. */
  episodeTimeoutMs: number;
}

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
