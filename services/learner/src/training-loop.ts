import { Logger } from '@nestjs/common';
import { describeError, type BusService } from '@ui-rl/bus';
import { checkpointName, type PolicyState } from '@ui-rl/contracts';
import type { Engine } from '@ui-rl/engine';
import { planBatch, type BatchPlan } from './batch-planner';
import type { CheckpointStore } from './checkpoint-store';
import type { Group, GroupBuffer } from './groups';
import type { MetricsFile } from './metrics-file';
import type { LearnerOptions } from './options';
import type { PolicyServer } from './policy-server';
import type { Progress } from './progress';
import { keepsCheckpoint } from './run-options';
import { hasLearningSignal } from './samples';
import { environmentMetrics } from './step-metrics';
import type { BatchTrainer } from './trainer';

/** Newest checkpoints that are kept, whatever their step: a running evaluation may use one. */
const KEPT_NEWEST = 3;
/** A run whose KL between sampler and trainer stays below is stable. */
const STABLE_KL = 0.01;

export interface TrainingLoopParts {
  runId: string;
  bus: BusService;
  engine: Engine;
  options: LearnerOptions;
  buffer: GroupBuffer;
  progress: Progress;
  policy: PolicyServer;
  trainer: BatchTrainer;
  checkpoints: CheckpointStore;
  metricsFile: MetricsFile;
}

/**
 * Trains as soon as enough groups are complete. The order makes a step happen once, whenever the process ends: weights and
 * what they were trained on are saved together, and uploaded; then the new policy is served and announced; then the groups'
 * messages are acknowledged.
 */
export class TrainingLoop {
  private readonly logger = new Logger('training');
  private running: Promise<void> | undefined;
  private advanceRequested = false;
  private done = false;
  private requested = 0;
  private lastStepEnded = Date.now();
  private publishMs = 0;

  constructor(private readonly parts: TrainingLoopParts) {}

  get finished(): boolean {
    return this.done;
  }

  /** Groups requested since the run began. */
  get groupsRequested(): number {
    return this.requested;
  }

  /** Trains what is complete; resolves when there is nothing left. */
  advance(): Promise<void> {
    this.advanceRequested = true;
    this.running ??= this.run().finally(() => (this.running = undefined));
    return this.running;
  }

  /** Trains no further batch; the newest checkpoint is the run's last, and what was not trained is released. */
  async finish(): Promise<void> {
    this.done = true;
    await this.running;
    await this.parts.checkpoints.publish(this.parts.progress.step, { last: true });
    await this.reportCheckpoint();
    this.parts.buffer.settleAll();
  }

  /** Publishes which policy samples and how many groups are requested. */
  async announce(): Promise<void> {
    const { bus, runId, policy, progress } = this.parts;
    const { step, digest } = policy.current;
    const before = await bus.runs.policy(runId);
    this.requested = Math.max(this.groupsNeeded(), before?.groupsRequested ?? 0);
    const state: PolicyState = {
      version: step,
      adapterDigest: digest,
      checkpoint: checkpointName({ runId, step: progress.step }),
      groupsRequested: this.requested,
    };
    await bus.runs.putPolicy(runId, state);
  }

  /** Saves weights, optimizer and progress under the present step, for this machine and others. */
  async save(): Promise<void> {
    const { engine, checkpoints, progress } = this.parts;
    const state = `${JSON.stringify(progress.toState(), null, 2)}\n`;
    await engine.save(checkpoints.folder.pathOf(progress.step), { 'state.json': state });
    const began = Date.now();
    await checkpoints.publish(progress.step);
    this.publishMs = Date.now() - began;
  }

  /** Publishes the last step and its checkpoint; published again after a restart it is stored once. */
  async reportLastStep(): Promise<void> {
    const { bus, runId, progress } = this.parts;
    const { step, lastStep } = progress;
    if (lastStep !== null) {
      await bus.event({ type: 'train_step', runId, step, ...lastStep }, String(step));
    }
    if (keepsCheckpoint(this.parts.options, step)) await this.reportCheckpoint();
  }

  private async reportCheckpoint(): Promise<void> {
    const { bus, runId, progress, policy, checkpoints } = this.parts;
    const { step } = progress;
    await bus.event(
      {
        type: 'checkpoint',
        runId,
        step,
        name: checkpointName({ runId, step }),
        path: checkpoints.folder.pathOf(step),
        adapterDigest: policy.current.digest,
      },
      String(step),
    );
  }

  get reachedMaxSteps(): boolean {
    const { options, progress } = this.parts;
    return options.maxSteps > 0 && progress.step >= options.maxSteps;
  }

  private async run(): Promise<void> {
    while (this.advanceRequested && !this.done) {
      this.advanceRequested = false;
      for (let plan = this.plan(); plan !== null && !this.done; plan = this.plan()) {
        if (plan.ready) await this.trainBatch(plan);
        else {
          await this.requestReplacements(plan);
          break;
        }
      }
    }
  }

  private plan(): BatchPlan | null {
    if (this.reachedMaxSteps) return null;
    const { buffer, progress, options } = this.parts;
    return planBatch(buffer, progress.settled.firstMissing, {
      groupsPerBatch: options.groupsPerBatch,
      inOrder: options.engine.deterministic ?? false,
      maxReplacedGroups: options.maxReplacedGroups,
      hasLearningSignal: (group) => hasLearningSignal(group.rewards, options.selection),
    });
  }

  private groupsNeeded(replacedNow = 0): number {
    const { options, progress } = this.parts;
    const ahead = progress.step + 1 + options.maxStepsOffPolicy;
    const batches = options.maxSteps > 0 ? Math.min(ahead, options.maxSteps) : ahead;
    return batches * options.groupsPerBatch + progress.replacedGroups + replacedNow;
  }

  /** Groups without a learning signal are replaced by others. */
  private async requestReplacements(plan: BatchPlan): Promise<void> {
    const needed = this.groupsNeeded(plan.replaced.length);
    if (needed <= this.requested) return;
    this.requested = needed;
    const { bus, runId } = this.parts;
    const state = await bus.runs.policy(runId);
    if (state !== null) await bus.runs.putPolicy(runId, { ...state, groupsRequested: needed });
  }

  private async trainBatch(plan: BatchPlan): Promise<void> {
    const { trainer, progress, policy } = this.parts;
    const began = Date.now();
    const trained = await trainer.train(plan.kept, progress.step, policy.current.digest);
    const settled = [...plan.kept, ...plan.replaced];
    this.advanceProgress(plan, trained.digest, trained.tokens);
    const metrics = { ...trained.metrics, ...this.batchMetrics(plan) };
    const rolloutIds = plan.kept.flatMap(({ trajectories }) =>
      trajectories.map(({ request }) => request.rolloutId),
    );
    const saveBegan = Date.now();
    progress.lastStep = { rolloutIds, metrics: this.withTimes(metrics, began, saveBegan) };
    await policy.snapshot(progress.step);
    await this.save();
    await policy.activate(progress.step, trained.digest);
    await this.announce();
    await this.report(settled, Date.now() - saveBegan);
  }

  private advanceProgress(plan: BatchPlan, digest: string, tokens: number): void {
    const { progress } = this.parts;
    progress.step += 1;
    progress.produced(progress.step, digest);
    progress.replacedGroups += plan.replaced.length;
    for (const group of [...plan.kept, ...plan.replaced]) {
      progress.settled.add(group.index);
      progress.counts.trajectories += group.trajectories.length + group.invalid;
      progress.counts.invalid += group.invalid;
    }
    progress.counts.trainedEpisodes += plan.kept.reduce((sum, group) => sum + group.trajectories.length, 0);
    progress.counts.trainedTokens += tokens;
  }

  private batchMetrics(plan: BatchPlan): Record<string, number> {
    const { options, progress } = this.parts;
    const { trajectories, invalid } = progress.counts;
    return {
      ...environmentMetrics(plan.kept, progress.step),
      'env/all/groups_replaced': plan.replaced.length,
      'env/all/invalid_share': trajectories === 0 ? 0 : invalid / trajectories,
      'progress/batch': progress.step,
      ...(options.maxSteps > 0 ? { 'progress/done_frac': progress.step / options.maxSteps } : {}),
    };
  }

  private withTimes(metrics: Record<string, number>, began: number, now: number): Record<string, number> {
    const total = (now - this.lastStepEnded) / 1000;
    const waiting = (began - this.lastStepEnded) / 1000;
    this.lastStepEnded = now;
    return { ...metrics, 'time/total': total, 'time/waiting_for_episodes': waiting };
  }

  private async report(settled: readonly Group[], saveMs: number): Promise<void> {
    const { buffer, progress, metricsFile, checkpoints } = this.parts;
    const { step, lastStep } = progress;
    const metrics: Record<string, number> = {
      ...lastStep?.metrics,
      'time/checkpoint': saveMs / 1000,
      'time/upload': this.publishMs / 1000,
    };
    await metricsFile.add({ step, at: new Date().toISOString(), metrics });
    await this.reportLastStep();
    buffer.settle(settled);
    await this.warnOfDrift(metrics);
    await checkpoints.prune(KEPT_NEWEST);
    const reward = metrics['env/all/reward/total'] ?? 0;
    this.logger.log(
      `step ${step}: reward ${reward.toFixed(3)}, ${settled.length} groups, checkpoint in ${saveMs} ms`,
    );
  }

  private async warnOfDrift(metrics: Record<string, number>): Promise<void> {
    const { bus, runId, progress } = this.parts;
    const kl = metrics['optim/kl_sample_train_v2'];
    if (kl === undefined || kl <= STABLE_KL) return;
    await bus
      .event(
        {
          type: 'warning',
          runId,
          service: 'learner',
          code: 'kl',
          message: `step ${progress.step}: KL between sampler and trainer is ${kl.toFixed(4)}, a stable run stays below ${STABLE_KL}`,
        },
        `kl.${progress.step}`,
      )
      .catch((error: unknown) => this.logger.warn(describeError(error)));
  }
}
