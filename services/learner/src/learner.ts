import { Logger } from '@nestjs/common';
import { failure, isFailure, LeaseLost, type BusService, type Consumption, type Lease } from '@ui-rl/bus';
import type {
  PolicyActRequest,
  PolicyInfoReply,
  PolicyInfoRequest,
  RunPhase,
  RunState,
  Trajectory,
} from '@ui-rl/contracts';
import { MAX_WAIT_MS } from '@ui-rl/retry';
import type { Engine, Sampler } from '@ui-rl/plugin-kit';
import { openTrajectories, trainingMinutes, type RunFile } from '@ui-rl/settings';
import type { DialectComputer } from './endpoint/dialect-computer';
import type { OutsidePolicy } from './endpoint/outside-policy';
import type { EpisodeIntake } from './episodes/intake';
import type { LostEpisodes } from './episodes/lost-episodes';
import type { Stragglers } from './episodes/stragglers';
import type { PolicyServer, Refusal } from './policy/policy-server';
import type { PolicyWeights } from './policy/policy-weights';
import type { Trackers } from './tracking/trackers';
import type { StepReports } from './training/step-reports';
import { Untrainable, type TrainingLoop } from './training/training-loop';

/** Phases in which episodes may be trained on. */
const TRAINING_PHASES: readonly RunPhase[] = ['baseline', 'training'];

export interface LearnerParts {
  runId: string;
  bus: BusService;
  /** Lease of the run: it belongs to this learner alone while the lease is held. */
  lease: Lease;
  options: RunFile;
  engine: Engine;
  sampler: Sampler;
  teacher: Engine | undefined;
  weights: PolicyWeights;
  policy: PolicyServer;
  /** The same policy for outside clients. */
  outside: OutsidePolicy;
  computer: DialectComputer;
  intake: EpisodeIntake;
  loop: TrainingLoop;
  lost: LostEpisodes;
  stragglers: Stragglers;
  trackers: Trackers;
  reports: StepReports;
  evaluations: Consumption;
  /** Called with an unrecoverable error: the process should exit, and a new one resumes from the last checkpoint. */
  onFailure: (error: unknown) => void;
}

/** The running learner of one run: serves the run's policy and trains it. */
export class Learner {
  private readonly logger = new Logger('learner');
  private readonly stopping = new AbortController();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly parts: LearnerParts) {
    for (const engine of [parts.engine, parts.teacher]) void engine?.ended.then((error) => this.fail(error));
    void this.follow();
    void parts.stragglers.watch(this.stopping.signal);
    void parts.lost.watch(this.stopping.signal, (groups) => {
      parts.loop.abandon(groups);
      this.advance();
    });
  }

  get runId(): string {
    return this.parts.runId;
  }

  get outside(): OutsidePolicy {
    return this.parts.outside;
  }

  async act(request: PolicyActRequest): ReturnType<PolicyServer['act']> {
    this.parts.stragglers.asked(request.requestId);
    return (await this.deposed()) ?? this.parts.policy.act(request);
  }

  async info({ screenshot, prompt }: PolicyInfoRequest): Promise<PolicyInfoReply | Refusal> {
    const { runId, weights, engine, policy } = this.parts;
    const deposed = await this.deposed();
    if (deposed !== undefined) return deposed;
    const modelImage = screenshot && policy.modelImage(screenshot);
    if (isFailure(modelImage)) return modelImage;
    const promptTokens = prompt && (await policy.countTokens(prompt));
    if (isFailure(promptTokens)) return promptTokens;
    const { step, digest } = weights.current;
    return {
      runId,
      step,
      adapterDigest: digest,
      engine: { ...(await engine.info()) },
      modelImage,
      promptTokens,
    };
  }

  /** The reply of a process that was suspended while another learner has trained the policy. */
  private async deposed(): Promise<Refusal | undefined> {
    try {
      await this.parts.lease.ensure();
      return undefined;
    } catch (error) {
      if (error instanceof LeaseLost) return failure('deposed', error.message);
      throw error;
    }
  }

  /** Maximum number of episodes that may wait for their batch. */
  get openTrajectories(): number {
    return openTrajectories(this.parts.options);
  }

  /** Handles one episode; resolves when its message can be acknowledged. */
  async accept(trajectory: Trajectory, signal: AbortSignal): Promise<void> {
    await this.parts.lease.ensure();
    if (this.parts.loop.finished) return;
    const waiting = await this.parts.intake.add(trajectory);
    if (waiting === undefined) return;
    this.advance();
    await untilSettled(waiting.settled, signal);
  }

  /** Trains on complete groups. */
  private advance(): void {
    const { loop } = this.parts;
    loop
      .advance()
      .then(() => (loop.endReason === undefined ? undefined : this.finish(loop.endReason)))
      .catch((error: unknown) => (error instanceof Untrainable ? this.end(error) : this.fail(error)));
  }

  /** Fails the run, which no process can continue. */
  private async end({ message }: Untrainable): Promise<void> {
    const { bus, runId } = this.parts;
    this.logger.error(`run ${runId} has failed: ${message}`);
    await bus.runs
      .changePhase(runId, 'failed', { reason: message })
      .catch((error: unknown) => this.fail(error));
  }

  /** Stops serving and releases the device. */
  async stop(): Promise<void> {
    const { evaluations, trackers, reports, computer } = this.parts;
    this.stopping.abort();
    clearTimeout(this.timer);
    await Promise.all([
      evaluations.stop().then(() => trackers.close()),
      reports.close(),
      this.releaseDevice(),
      computer.close(),
    ]);
  }

  private async releaseDevice(): Promise<void> {
    const { sampler, engine, teacher } = this.parts;
    try {
      await sampler.stop();
    } finally {
      await Promise.all([engine.stop(), teacher?.stop()]);
    }
  }

  /** Follows the run's phase: when training may start, how long it may take, when it is over. */
  private async follow(): Promise<void> {
    const { bus, runId } = this.parts;
    try {
      for await (const state of bus.runs.watchState(runId, this.stopping.signal)) await this.enter(state);
    } catch (error) {
      if (!this.stopping.signal.aborted) this.fail(error);
    }
  }

  private async enter({ phase }: RunState): Promise<void> {
    clearTimeout(this.timer);
    if (!TRAINING_PHASES.includes(phase)) {
      this.parts.loop.finish().catch((error: unknown) => this.fail(error));
      return;
    }
    if (phase === 'training') {
      this.advance();
      await this.limitMinutes();
    }
  }

  private async limitMinutes(): Promise<void> {
    const { bus, runId, options } = this.parts;
    const { training, evaluation } = options;
    const before = (await bus.runs.phaseDelayMs(runId)) / 60_000;
    const minutes = trainingMinutes(training, before, evaluation.baseline);
    if (minutes === Infinity) return;
    const restMs = minutes * 60_000 - (await bus.runs.phaseAgeMs(runId));
    if (this.stopping.signal.aborted) return;
    if (restMs > MAX_WAIT_MS) {
      const again = (): void => void this.limitMinutes().catch((error: unknown) => this.fail(error));
      this.timer = setTimeout(again, MAX_WAIT_MS);
      return;
    }
    const reason = `${Number(minutes.toPrecision(3))} minutes are over`;
    this.timer = setTimeout(() => void this.finish(reason), Math.max(0, restMs));
  }

  private async finish(reason: string): Promise<void> {
    const { loop, bus, runId } = this.parts;
    if (loop.finished) return;
    try {
      await loop.finish();
      this.logger.log(`training of run ${runId} is over: ${reason}`);
      await bus.runs.changePhase(runId, 'final_eval', { from: ['training'], reason });
    } catch (error) {
      this.fail(error);
    }
  }

  /** Being superseded is not a failure: the service follows the lease. */
  private fail(error: unknown): void {
    if (this.stopping.signal.aborted) return;
    const { lease, onFailure } = this.parts;
    void lease.confirm().then(
      () => onFailure(error),
      (reason: unknown) => (reason instanceof LeaseLost ? undefined : onFailure(error)),
    );
  }
}

async function untilSettled(settled: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) throw new Error('the learner stops before the episode was trained');
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => reject(new Error('the learner stops before the episode was trained'));
    signal.addEventListener('abort', stop, { once: true });
    settled.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
