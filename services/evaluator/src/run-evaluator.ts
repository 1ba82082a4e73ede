import { type BusService, type Consumption, FINAL_PHASES } from '@ui-rl/bus';
import {
  CheckpointEvent,
  type Purpose,
  type RunPhase,
  STREAMS,
  subjects,
  Trajectory,
} from '@ui-rl/contracts';
import { DEADLINES } from '@ui-rl/retry';
import type { ServedRun } from '@ui-rl/service';
import { stageOf } from './episodes';
import { EvaluationStore } from './evaluation-store';
import { LostEpisodes, trajectoryConsumer } from './lost-episodes';
import type { EvaluationPlan } from './plan';
import { StallWatch } from './stall-watch';
import { Stages } from './stages';
import { begin, classify, record } from './state';

/**
 * Evaluates one run. Consumers and watchers only record events; `Stages` performs all consequences, based on
 * the recorded state. The evaluation therefore resumes correctly, whenever the process ends.
 */
export class RunEvaluator implements ServedRun {
  private readonly store: EvaluationStore;
  private readonly stages: Stages;
  private readonly stall: StallWatch;
  private readonly lost: LostEpisodes;
  private phase: RunPhase | null = null;
  /** Whether the learner has served the run: before that, episodes would fail and waste time. */
  private hasPolicy = false;
  private changed: () => void = () => undefined;
  private taking: Promise<void> = Promise.resolve();

  constructor(
    private readonly bus: BusService,
    private readonly plan: EvaluationPlan,
    { stallMs = DEADLINES.stall.ms, lookEveryMs }: { stallMs?: number; lookEveryMs?: number } = {},
  ) {
    this.store = new EvaluationStore(bus, plan.runId);
    this.stages = new Stages(bus, plan, this.store);
    this.stall = new StallWatch(bus, plan.runId, this.store, {
      stallMs,
      waitsForLearner: () => this.waitsForLearner,
    });
    this.lost = new LostEpisodes(bus, plan, this.store, (trajectory) => this.take(trajectory), lookEveryMs);
  }

  /** Works until the run has ended or the signal aborts. */
  async work(signal: AbortSignal): Promise<void> {
    const done = new AbortController();
    const both = AbortSignal.any([signal, done.signal]);
    const consumptions = await this.consume();
    this.stall.start(both);
    try {
      await Promise.race([
        this.advanceUntilEnded(both),
        Promise.all([
          this.followPhase(both),
          this.followPolicy(both),
          this.followStore(both),
          this.lost.watch(both),
        ]),
      ]);
    } finally {
      done.abort();
      this.changed();
      await Promise.all(consumptions.map((consumption) => consumption.stop()));
    }
  }

  private async advanceUntilEnded(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const change = new Promise<void>((resolve) => (this.changed = resolve));
      const { phase } = this;
      if (phase !== null) {
        if (FINAL_PHASES.includes(phase)) return;
        if (!this.waitsForLearner) await this.stages.advance(phase);
      }
      await change;
    }
  }

  /** A run that waits for the device is not evaluated, and its training does not start. */
  private get waitsForLearner(): boolean {
    return this.phase === 'baseline' && !this.hasPolicy;
  }

  private async followPolicy(signal: AbortSignal): Promise<void> {
    for await (const _ of this.bus.runs.watchPolicy(this.plan.runId, signal)) {
      this.hasPolicy = true;
      this.stall.sign();
      return this.changed();
    }
  }

  private async followPhase(signal: AbortSignal): Promise<void> {
    for await (const { phase } of this.bus.runs.watchState(this.plan.runId, signal)) {
      this.phase = phase;
      this.stall.sign();
      this.changed();
    }
  }

  private async followStore(signal: AbortSignal): Promise<void> {
    for await (const _ of this.store.changes(signal)) this.changed();
  }

  private async consume(): Promise<Consumption[]> {
    const { runId } = this.plan;
    const trajectories = (purpose: Purpose) =>
      this.bus.consume<Trajectory>({
        stream: STREAMS.trajectories,
        durable: trajectoryConsumer(runId, purpose),
        subject: subjects.trajectory(runId, purpose),
        schema: Trajectory,
        ackWaitMs: DEADLINES.shortMessage.ms,
        handle: (trajectory) => this.take(trajectory),
      });
    const checkpoints = () =>
      this.bus.consume<CheckpointEvent>({
        stream: STREAMS.events,
        durable: `evaluator-${runId}-checkpoints`,
        subject: subjects.event(runId, 'checkpoint'),
        schema: CheckpointEvent,
        ackWaitMs: DEADLINES.shortMessage.ms,
        handle: (event) => this.takeCheckpoint(event),
      });
    return Promise.all([trajectories('eval'), trajectories('baseline'), checkpoints()]);
  }

  /** Sequentially: the result of a refill must not be handled before the refill is recorded. */
  private take(trajectory: Trajectory): Promise<void> {
    const taken = this.taking.then(() => this.takeNow(trajectory));
    this.taking = taken.catch(() => undefined);
    return taken;
  }

  /** A refill is requested before it is recorded: it may be requested twice, but is never lost. */
  private async takeNow(trajectory: Trajectory): Promise<void> {
    const { maxAttempts } = this.plan;
    const { request } = trajectory;
    this.stall.sign();
    const state = await this.store.read();
    const verdict = classify(state, trajectory, maxAttempts);
    if (verdict === 'ignore') return;
    const evaluation = state.open.find((open) => open.evaluationId === request.evaluationId);
    if (verdict === 'refill' && evaluation !== undefined) {
      this.bus.logger.warn(`${request.rolloutId} is played again: ${trajectory.invalidReason}`);
      await this.stages.requestEpisode(evaluation, request.groupIndex, request.attempt + 1);
    }
    await this.store.change((current) => record(current, trajectory, maxAttempts));
  }

  private async takeCheckpoint(checkpoint: CheckpointEvent): Promise<void> {
    const { name, step } = checkpoint;
    const stage = stageOf(checkpoint, this.plan);
    if (stage === undefined) return;
    const state = await this.bus.runs.state(this.plan.runId);
    if (state?.phase !== 'training') return;
    // Silence before the start does not count.
    this.stall.sign();
    const start = { stage, policy: name, policyVersion: step };
    await this.store.change((current) => begin(current, this.plan, start));
  }
}
