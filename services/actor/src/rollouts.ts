import type { BusService, Consumption, JetStreamContext } from '@ui-rl/bus';
import { ANY, consumers, RolloutRequest, STREAMS, subjects } from '@ui-rl/contracts';
import { maxTurnsOf, playRollout } from '@ui-rl/episode';
import { DEADLINES, RETRIES } from '@ui-rl/retry';
import type { ServedRun } from '@ui-rl/service';
import { overBroker } from './episode/over-broker';
import { Pause } from './pause';
import { Progress } from './progress';
import type { RunPlan } from './run-plan';
import { Trajectories } from './trajectories';

/** Plays the rollouts of one run: one message per free slot, acknowledged once its trajectory is stored. */
export class Rollouts implements ServedRun {
  private readonly trajectories: Trajectories;
  private readonly world: ReturnType<typeof overBroker>;
  private readonly pause: Pause;
  private readonly progress: Progress;
  /** For each free slot, the time since when it is free. */
  private freeSince: number[] = [];

  constructor(
    private readonly bus: BusService,
    private readonly plan: RunPlan,
  ) {
    this.trajectories = new Trajectories(bus);
    this.world = overBroker(bus, plan.runId, plan.timeouts);
    this.pause = new Pause(bus, plan.runId);
    this.progress = new Progress(bus, plan.runId, this.trajectories.actor);
  }

  /** Plays until the run has ended or the signal aborts. */
  async work(signal: AbortSignal): Promise<void> {
    await this.pause.follow(signal);
    const consumption = await this.consume();
    try {
      await this.bus.runs.untilOver(this.plan.runId, signal);
    } finally {
      await consumption.stop();
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.progress.close(), this.plan.close()]);
  }

  private consume(): Promise<Consumption> {
    const { runId, concurrency } = this.plan;
    this.freeSince = new Array<number>(concurrency).fill(performance.now());
    return this.bus.consume<RolloutRequest>({
      stream: STREAMS.rollouts,
      durable: consumers.actors(runId),
      subject: subjects.rollout(runId, ANY),
      schema: RolloutRequest,
      concurrency,
      ackWaitMs: DEADLINES.rollout.ms,
      retry: RETRIES.rollout,
      handle: (request, context) => this.play(request, context),
      exhausted: (request, context) => this.trajectories.exhausted(request, context),
    });
  }

  private async play(request: RolloutRequest, context: JetStreamContext): Promise<void> {
    const since = this.freeSince.shift() ?? performance.now();
    const idleMs = performance.now() - since;
    try {
      await this.pause.over(context.signal);
      await this.playIn(request, context, idleMs);
    } finally {
      this.freeSince.push(performance.now());
    }
  }

  /** @param idleMs time that its slot was free before */
  private async playIn(request: RolloutRequest, context: JetStreamContext, idleMs: number): Promise<void> {
    request.task.environment ??= this.plan.environment;
    void this.trajectories.started(request);
    const plan = this.plan.episode(request.purpose);
    const played = await this.progress.during(request, maxTurnsOf(request, plan), (playing) => {
      let turns = 0;
      playing.turns = () => turns;
      return playRollout(request, {
        ...this.world,
        ...{ plan, actor: this.trajectories.actor, delivery: context.delivery },
        ...{ stopping: context.signal, idleMs },
        onPhase: (phase) => {
          playing.phase = phase;
          // A restarted episode begins again.
          if (phase === 'opening') turns = 0;
        },
        onTurn: () => (turns += 1),
      });
    });
    await this.trajectories.publish(played);
  }
}
