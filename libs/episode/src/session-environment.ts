import type { RolloutRequest, Screenshot } from '@ui-rl/contracts';
import type { Reply, Sessions, StepOutcome } from '@ui-rl/plugin-kit';
import { DEADLINES, RETRIES } from '@ui-rl/retry';
import type { RunFile } from '@ui-rl/settings';
import type { Clock } from './clock';
import { mayOpenLater, type EpisodeEnvironment, type SessionUse, type State } from './environment';
import { EpisodeFailure } from './failure';

export interface SessionTimes {
  /** Time limit for opening, and for each action, in ms. */
  deadlineMs: number;
  /** The session ends after this time without a request, in ms. */
  leaseMs: number;
}

/**
 * The lease of an episode's session: during the policy's turn, which may take until its time limit, the session
 * receives no requests.
 */
export function leaseOf({ environment, rollout }: Pick<RunFile, 'environment' | 'rollout'>): number {
  return Math.max(environment.lease_ms, rollout.turn_timeout_ms + DEADLINES.environmentMargin.ms);
}

/** A session of an environment in this process. */
export class SessionEnvironment implements EpisodeEnvironment {
  use: SessionUse | undefined;

  private constructor(
    private readonly sessions: Sessions,
    private readonly times: SessionTimes,
    private readonly sessionId: string,
    readonly firstFrame: Screenshot,
    readonly initialState: State,
    readonly takesFinish: boolean | undefined,
  ) {}

  /** Waits for capacity. @throws EpisodeFailure if there is none in time, or the environment cannot play the task. */
  static async open(
    sessions: Sessions,
    { task, seed, rolloutId }: RolloutRequest,
    clock: Clock,
    times: SessionTimes,
  ): Promise<SessionEnvironment> {
    const open = () => sessions.open({ task, seed, owner: rolloutId, ...times });
    const reply = await clock.retry(RETRIES.environmentOpen, open, { isTransientResult: mayOpenLater });
    const { sessionId, screenshot, state, takesFinish } = valueOf('open', reply);
    return new SessionEnvironment(sessions, times, sessionId, screenshot, state, takesFinish);
  }

  async step(stepId: string, action: object): Promise<StepOutcome> {
    const { sessionId, times } = this;
    const { deadlineMs } = times;
    return valueOf('step', await this.sessions.step({ sessionId, stepId, action, deadlineMs }));
  }

  async close(): Promise<State> {
    const { state, ...use } = valueOf('close', await this.sessions.closeSession(this.sessionId));
    this.use = use;
    return state;
  }

  discard(): void {
    void this.sessions.closeSession(this.sessionId);
  }
}

function valueOf<T>(what: string, reply: Reply<T>): T {
  if (reply.ok) return reply.value;
  const { code, message } = reply.error;
  throw new EpisodeFailure(code, `env.${what} failed: ${message}`, code === 'no_session');
}
