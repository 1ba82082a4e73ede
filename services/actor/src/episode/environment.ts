import type { BusService, MessageClass } from '@ui-rl/bus';
import {
  EnvCloseReply,
  EnvOpenReply,
  EnvStepReply,
  type RolloutRequest,
  type Screenshot,
  subjects,
} from '@ui-rl/contracts';
import {
  type Clock,
  type EpisodeEnvironment,
  EpisodeFailure,
  mayOpenLater,
  type SessionUse,
  type State,
} from '@ui-rl/episode';
import { DEADLINES, RETRIES } from '@ui-rl/retry';
import type { Timeouts } from './timeouts';

/** Codes of a lost answer, or of a missing listener. */
const SILENT = new Set(['disconnected', 'no_responders', 'timeout']);

/** The session of one episode with an env service. */
export class EnvironmentClient implements EpisodeEnvironment {
  use: SessionUse | undefined;

  private constructor(
    private readonly bus: BusService,
    private readonly clock: Clock,
    private readonly timeouts: Timeouts,
    readonly sessionId: string,
    readonly instance: string,
    readonly firstFrame: Screenshot,
    readonly initialState: State,
    readonly takesFinish: boolean | undefined,
  ) {}

  /** Waits for capacity. @throws EpisodeFailure if there is none in time, or the environment cannot play the task. */
  static async open(
    bus: BusService,
    request: RolloutRequest,
    clock: Clock,
    timeouts: Timeouts,
  ): Promise<EnvironmentClient> {
    const kind = request.task.environment?.kind;
    if (kind === undefined) throw new EpisodeFailure('bad_task', 'the task names no environment');
    const { runId, rolloutId, task, seed } = request;
    const { openDeadlineMs: deadlineMs, leaseMs } = timeouts;
    const message = { runId, rolloutId, task, seed, leaseMs, deadlineMs };
    const policy = { ...RETRIES.environmentOpen, withinMs: timeouts.openMs };
    const limitMs = deadlineMs + DEADLINES.environmentMargin.ms;
    let abandoned = false;
    const open = async () => {
      const given = await bus.request(subjects.envOpen(kind), message, limitMs, EnvOpenReply);
      if (abandoned && given.ok) endSession(bus, given.value);
      return given;
    };
    const trying = clock.retry(policy, open, { isTransientResult: mayOpenLater });
    const reply = await trying.catch((error: unknown) => {
      abandoned = true;
      throw error;
    });
    if (reply.ok) {
      const { sessionId, instance, screenshot, state = null, takesFinish } = reply.value;
      return new EnvironmentClient(
        ...([bus, clock, timeouts, sessionId, instance, screenshot, state, takesFinish] as const),
      );
    }
    throw new EpisodeFailure(
      reply.error.code,
      `the ${kind} environment did not open: ${reply.error.message}`,
    );
  }

  async step(stepId: string, action: object): Promise<EnvStepReply> {
    const message = { sessionId: this.sessionId, stepId, action, deadlineMs: this.timeouts.stepDeadlineMs };
    return this.request('step', subjects.envStep(this.instance), message, EnvStepReply);
  }

  async close(): Promise<State> {
    const message = { sessionId: this.sessionId };
    const reply = await this.request('close', subjects.envClose(this.instance), message, EnvCloseReply);
    const { state, openMs, idleMs } = reply;
    if (openMs !== undefined && idleMs !== undefined) this.use = { openMs, idleMs };
    return state;
  }

  /** Best effort: the lease also ends the session. */
  discard(): void {
    endSession(this.bus, this);
  }

  /**
   * Both operations are idempotent, so a request with a lost answer is repeated. A service that stays silent beyond
   * the timeouts has died, and the session with it.
   */
  private async request<T>(
    what: string,
    subject: string,
    message: object,
    schema: MessageClass<T>,
  ): Promise<T> {
    const { bus, clock, timeouts } = this;
    const requestedAt = performance.now();
    const isLost = (code: string) => {
      // Without an answer the service may still be working; without a listener it is not.
      const limitMs =
        code === 'timeout' ? timeouts.stepDeadlineMs + DEADLINES.environmentMargin.ms : timeouts.sessionMs;
      return performance.now() - requestedAt > limitMs;
    };
    const reply = await clock.retry(
      RETRIES.environment,
      () => bus.request<T>(subject, message, DEADLINES.environmentAnswer.ms, schema),
      {
        isTransientResult: (given) =>
          !given.ok &&
          (given.error.code === 'busy' || (SILENT.has(given.error.code) && !isLost(given.error.code))),
      },
    );
    if (reply.ok) return reply.value;
    const { code, message: why } = reply.error;
    if (SILENT.has(code)) {
      throw new EpisodeFailure(code, `the env service that held the session is gone: ${why}`, true);
    }
    throw new EpisodeFailure(code, `env.${what} failed: ${why}`, code === 'no_session');
  }
}

function endSession(
  bus: BusService,
  { sessionId, instance }: Pick<EnvOpenReply, 'sessionId' | 'instance'>,
): void {
  void bus.request(subjects.envClose(instance), { sessionId }, DEADLINES.environmentMargin.ms);
}
