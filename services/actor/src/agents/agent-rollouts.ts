import { randomUUID } from 'node:crypto';
import type { BusService, Consumption, JetStreamContext } from '@ui-rl/bus';
import { ANY, consumers, RolloutRequest, STREAMS, subjects } from '@ui-rl/contracts';
import { maxTurnsOf } from '@ui-rl/episode';
import { ApiError } from '@ui-rl/openai-api';
import { DEADLINES, RETRIES } from '@ui-rl/retry';
import type { ServedRun } from '@ui-rl/service';
import { overBroker } from '../episode/over-broker';
import { Pause } from '../pause';
import { Progress } from '../progress';
import type { RunPlan } from '../run-plan';
import { Trajectories } from '../trajectories';
import { AgentSession, type SessionWish } from './agent-session';
import type { AgentSessions, OfferedRun } from './agent-sessions';
import { deferred } from './deferred';

/** An agent that waits for a rollout. */
interface Claim {
  wish: SessionWish;
  /** Called without a session if none came in time. */
  opened: (session?: AgentSession) => void;
  failed: (error: unknown) => void;
  /** Whether its slot among the open sessions is taken by a rollout. */
  played: boolean;
}

/**
 * Assigns the rollouts of one run to outside agents: a rollout is taken from the queue when an agent asks for it, and
 * acknowledged once the trajectory of its session is stored.
 */
export class AgentRollouts implements ServedRun, OfferedRun {
  private readonly trajectories: Trajectories;
  private readonly world: ReturnType<typeof overBroker>;
  private readonly pause: Pause;
  private readonly progress: Progress;
  private readonly consumptions = new Set<Consumption>();
  private open = 0;
  private ended = false;

  constructor(
    private readonly bus: BusService,
    private readonly plan: RunPlan,
    private readonly sessions: AgentSessions,
  ) {
    this.trajectories = new Trajectories(bus);
    this.world = overBroker(bus, plan.runId, plan.timeouts);
    this.pause = new Pause(bus, plan.runId);
    this.progress = new Progress(bus, plan.runId, this.trajectories.actor);
  }

  get runId(): string {
    return this.plan.runId;
  }

  /** Offers sessions until the run has ended or the signal aborts. */
  async work(signal: AbortSignal): Promise<void> {
    await this.pause.follow(signal);
    this.sessions.offer(this);
    try {
      await this.bus.runs.untilOver(this.plan.runId, signal);
    } finally {
      this.ended = true;
      this.sessions.withdraw(this);
      await Promise.all([...this.consumptions].map((consumption) => consumption.stop()));
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.progress.close(), this.plan.close()]);
  }

  /**
   * Waits for a rollout and opens a session for it; undefined if none came in time.
   *
   * @throws ApiError if this actor already plays as many as the run allows
   */
  async claim(wish: SessionWish, waitMs: number, signal: AbortSignal): Promise<AgentSession | undefined> {
    const { concurrency } = this.plan;
    if (this.open >= concurrency) {
      throw new ApiError(
        429,
        `${concurrency} sessions are open here, as many as rollout.concurrency allows`,
        'too_many_sessions',
      );
    }
    const claimed = deferred<AgentSession | undefined>();
    const claim: Claim = { wish, opened: claimed.resolve, failed: claimed.reject, played: false };
    this.open += 1;
    try {
      await this.take(claim, AbortSignal.any([signal, AbortSignal.timeout(waitMs)]));
      return await claimed.promise;
    } finally {
      if (!claim.played) this.open -= 1;
    }
  }

  private async take(claim: Claim, givenUp: AbortSignal): Promise<void> {
    const goesOn = await this.pause.over(givenUp).then(
      () => true,
      () => false,
    );
    if (!goesOn) return claim.opened();
    const consumption = await this.consume((request, context) => {
      if (claim.played || givenUp.aborted || this.ended) throw new Error('no agent waits for it any more');
      claim.played = true;
      return this.play(claim, request, context);
    });
    this.consumptions.add(consumption);
    void consumption.ended.then(() => this.consumptions.delete(consumption));
    const giveUp = (): void => {
      if (claim.played) return;
      claim.opened();
      void consumption.stop();
    };
    givenUp.addEventListener('abort', giveUp, { once: true });
    if (givenUp.aborted) giveUp();
  }

  /** Reads one rollout: the consumption ends when it has been played. */
  private async consume(
    handle: (request: RolloutRequest, context: JetStreamContext) => Promise<void>,
  ): Promise<Consumption> {
    const { runId } = this.plan;
    const reading: { consumption?: Consumption } = {};
    const consumption = await this.bus.consume<RolloutRequest>({
      stream: STREAMS.rollouts,
      durable: consumers.actors(runId),
      subject: subjects.rollout(runId, ANY),
      schema: RolloutRequest,
      concurrency: 1,
      ackWaitMs: DEADLINES.rollout.ms,
      retry: RETRIES.rollout,
      handle: async (request, context) => {
        try {
          await handle(request, context);
        } finally {
          // Take nothing further, because each claim reads for itself. Stop only after the outcome of this one is
          // decided.
          setImmediate(() => void reading.consumption?.stop());
        }
      },
      exhausted: (request, context) => this.trajectories.exhausted(request, context),
    });
    reading.consumption = consumption;
    return consumption;
  }

  private async play(claim: Claim, request: RolloutRequest, context: JetStreamContext): Promise<void> {
    request.task.environment ??= this.plan.environment;
    void this.trajectories.started(request);
    const plan = this.plan.episode(request.purpose);
    try {
      await this.progress.during(request, maxTurnsOf(request, plan), async (playing) => {
        const session = await AgentSession.open(
          `ses_${randomUUID().replaceAll('-', '')}`,
          request,
          claim.wish,
          {
            ...this.world,
            ...{ plan, actor: this.trajectories.actor, delivery: context.delivery, stopping: context.signal },
            onPhase: (phase) => (playing.phase = phase),
          },
        );
        playing.turns = () => session.calls;
        this.sessions.add(session);
        claim.opened(session);
        try {
          await this.trajectories.publish(await session.trajectory);
          session.published();
        } finally {
          this.sessions.remove(session);
        }
      });
    } catch (error) {
      claim.failed(error);
      throw error;
    } finally {
      this.open -= 1;
    }
  }
}
