import { type BusService, type MessageClass, sleep } from '@ui-rl/bus';
import {
  EnvCloseReply,
  EnvOpenReply,
  EnvStepReply,
  type Reply,
  type RolloutRequest,
  type Screenshot,
  subjects,
} from '@ui-rl/contracts';
import type { Clock } from './clock';
import { EpisodeFailure } from './failure';
import type { Timeouts } from './plan';

/** Network time on top of the environment's own deadline. */
const MARGIN_MS = 2_000;
/** A lost answer is asked for again after this long; work that goes on is not begun again. */
const ASK_MS = 5_000;
const PAUSE_MS = 250;
const MAX_OPEN_PAUSE_MS = 2_000;

/**
 * Failures of opening that pass: no room, not started yet, about to stop, a browser that is slow or crashed. Nothing was
 * played yet, so it can be tried again.
 */
const TRANSIENT = new Set([
  'busy',
  'capacity',
  'crashed',
  'deadline',
  'disconnected',
  'no_responders',
  'no_session',
  'timeout',
]);

/** The session of one episode with an env service. */
export class EnvironmentClient {
  private constructor(
    private readonly bus: BusService,
    private readonly clock: Clock,
    private readonly timeouts: Timeouts,
    private readonly sessionId: string,
    private readonly instance: string,
    readonly firstFrame: Screenshot,
  ) {}

  /** Waits for room. @throws EpisodeFailure where there is none in time, or the environment cannot play the task. */
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
    const until = Math.min(Date.now() + timeouts.openMs, clock.endsAt);
    for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_OPEN_PAUSE_MS)) {
      const reply = await clock.race(
        bus.request(subjects.envOpen(kind), message, deadlineMs + MARGIN_MS, EnvOpenReply),
      );
      if (reply.ok) {
        const { sessionId, instance, screenshot } = reply.value;
        return new EnvironmentClient(bus, clock, timeouts, sessionId, instance, screenshot);
      }
      if (!TRANSIENT.has(reply.error.code) || Date.now() + pauseMs >= until) {
        throw new EpisodeFailure(
          reply.error.code,
          `the ${kind} environment did not open: ${reply.error.message}`,
        );
      }
      await clock.race(sleep(pauseMs));
    }
  }

  /** Executes an action once, however often it has to be asked for. */
  async step(stepId: string, action: object): Promise<EnvStepReply> {
    const message = { sessionId: this.sessionId, stepId, action, deadlineMs: this.timeouts.stepDeadlineMs };
    return this.ask('step', subjects.envStep(this.instance), message, EnvStepReply);
  }

  /** Ends the session; the state that verifiers judge. */
  async close(): Promise<Record<string, unknown> | null> {
    const message = { sessionId: this.sessionId };
    const reply = await this.ask('close', subjects.envClose(this.instance), message, EnvCloseReply);
    return reply.state;
  }

  /** Ends the session without interest in its state. Never throws and does not wait: the lease is the safety net. */
  discard(): void {
    void this.bus.request(subjects.envClose(this.instance), { sessionId: this.sessionId }, MARGIN_MS);
  }

  /**
   * Both operations are idempotent, so a lost answer is asked for again. A service that is silent beyond the timeouts
   * has died, and the session with it.
   */
  private async ask<T>(what: string, subject: string, message: object, schema: MessageClass<T>): Promise<T> {
    const workMs = this.timeouts.stepDeadlineMs + MARGIN_MS;
    let silentSince: number | null = null;
    for (;;) {
      const askedAt = Date.now();
      const reply: Reply<T> = await this.clock.race(this.bus.request<T>(subject, message, ASK_MS, schema));
      if (reply.ok) return reply.value;
      const { code, message: why } = reply.error;
      const silent = code === 'no_responders' || code === 'disconnected' || code === 'timeout';
      if (!silent && code !== 'busy') {
        throw new EpisodeFailure(code, `env.${what} failed: ${why}`, code === 'no_session');
      }
      silentSince ??= askedAt;
      // Without an answer it may still be at work; without a listener it is not.
      const limitMs = code === 'timeout' ? workMs : this.timeouts.sessionMs;
      if (silent && Date.now() - silentSince > limitMs) {
        throw new EpisodeFailure(code, `the env service that held the session is gone: ${why}`, true);
      }
      await this.clock.race(sleep(PAUSE_MS));
    }
  }
}
