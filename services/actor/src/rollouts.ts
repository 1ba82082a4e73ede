import {
  BusError,
  type BusService,
  type Consumption,
  describeError,
  type JetStreamContext,
} from '@ui-rl/bus';
import { ANY, RolloutRequest, STREAMS, subjects, type Trajectory } from '@ui-rl/contracts';
import { playRollout, trajectory } from '@ui-rl/episode';
import { DEADLINES, RETRIES } from '@ui-rl/retry';
import type { ServedRun } from '@ui-rl/service';
import { overBroker } from './episode/over-broker';
import { countEpisode } from './measures';
import type { RunPlan } from './run-plan';

/** Plays the rollouts of one run: one message per free slot, acknowledged once its trajectory is stored. */
export class Rollouts implements ServedRun {
  private readonly actor: string;
  private readonly world: ReturnType<typeof overBroker>;
  /** Since when each free place for an episode is free. */
  private freeSince: number[] = [];

  constructor(
    private readonly bus: BusService,
    private readonly plan: RunPlan,
  ) {
    this.actor = `${bus.service}-${bus.instance}`;
    this.world = overBroker(bus, plan.runId, plan.timeouts);
  }

  /** Plays until the run has ended or the signal aborts. */
  async work(signal: AbortSignal): Promise<void> {
    const consumption = await this.consume();
    try {
      await this.bus.runs.untilOver(this.plan.runId, signal);
    } finally {
      await consumption.stop();
    }
  }

  close(): Promise<void> {
    return this.plan.close();
  }

  private consume(): Promise<Consumption> {
    const { runId, concurrency } = this.plan;
    this.freeSince = new Array<number>(concurrency).fill(performance.now());
    return this.bus.consume<RolloutRequest>({
      stream: STREAMS.rollouts,
      durable: `actors-${runId}`,
      subject: subjects.rollout(runId, ANY),
      schema: RolloutRequest,
      concurrency,
      ackWaitMs: DEADLINES.rollout.ms,
      retry: RETRIES.rollout,
      handle: (request, context) => this.play(request, context),
      exhausted: (request, context) => this.publishInvalid(request, context),
    });
  }

  private async play(request: RolloutRequest, context: JetStreamContext): Promise<void> {
    const since = this.freeSince.shift() ?? performance.now();
    const idleMs = performance.now() - since;
    try {
      await this.playIn(request, context, idleMs);
    } finally {
      this.freeSince.push(performance.now());
    }
  }

  /** @param idleMs how long its place was free before */
  private async playIn(request: RolloutRequest, context: JetStreamContext, idleMs: number): Promise<void> {
    request.task.environment ??= this.plan.environment;
    void this.publishStarted(request);
    const played = await playRollout(request, {
      ...this.world,
      plan: this.plan.episode(request.purpose),
      actor: this.actor,
      delivery: context.delivery,
      stopping: context.signal,
      idleMs,
    });
    await this.publish(played);
  }

  private async publishStarted({ runId, rolloutId }: RolloutRequest): Promise<void> {
    try {
      await this.bus.event({ type: 'rollout_started', runId, rolloutId, actor: this.actor }, rolloutId);
    } catch (error) {
      this.bus.logger.warn(`the start of ${rolloutId} could not be published: ${describeError(error)}`);
    }
  }

  /** Never silence: what no delivery could play is an invalid trajectory with the reason. */
  private async publishInvalid(request: RolloutRequest, context: JetStreamContext): Promise<void> {
    const why = context.error === undefined ? 'the actor ended each time' : describeError(context.error);
    await this.publish(
      trajectory(request, this.actor, new Date(), {
        status: 'invalid',
        invalidReason: `actor: failed ${RETRIES.rollout.attempts} deliveries: ${why}`,
        turns: [],
      }),
    );
  }

  private async publish(played: Trajectory): Promise<void> {
    const { runId, purpose, rolloutId } = played.request;
    const subject = subjects.trajectory(runId, purpose);
    countEpisode(played);
    try {
      await this.bus.publishJson(subject, played, rolloutId);
    } catch (error) {
      if (!(error instanceof BusError) || error.category !== 'too_large') throw error;
      const { request, actor, startedAt } = played;
      const invalid = { status: 'invalid' as const, invalidReason: `too_large: ${error.message}`, turns: [] };
      await this.bus.publishJson(
        subject,
        trajectory(request, actor, new Date(startedAt), invalid),
        rolloutId,
      );
    }
  }
}
