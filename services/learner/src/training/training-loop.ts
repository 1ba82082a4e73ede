import { Logger } from '@nestjs/common';
import { BusError, UnacceptableMessage, type Lease } from '@ui-rl/bus';
import { replacedGroups, type RunFile } from '@ui-rl/settings';
import { describeError } from '@ui-rl/retry';
import type { CheckpointStore } from '../checkpoints/checkpoint-store';
import { planBatch, type BatchPlan } from '../episodes/batch-planner';
import type { Group, GroupBuffer } from '../episodes/groups';
import type { Stragglers } from '../episodes/stragglers';
import { nameOf, type TaskHealth } from '../episodes/task-health';
import type { PolicyWeights } from '../policy/policy-weights';
import { traceStep } from '../tracking/step-traces';
import type { RunWarnings } from '../warnings';
import type { Algorithm } from './algorithm';
import type { BatchResult, BatchTrainer } from './batch-trainer';
import type { DurableSteps } from './durable-steps';
import { curriculumMetrics, groupResults } from './curriculum';
import { experienceOf } from './experience';
import type { GroupDemand } from './group-demand';
import type { Recovery } from './guard/recovery';
import { hasLearningSignal } from './learning-signal';
import type { Progress } from './progress';
import { stalenessMetrics, tokensOf, type StalenessBound } from './staleness';
import { environmentMetrics } from './step-metrics';
import type { WarmStart } from './stored/warm-start';
import type { StepReports } from './step-reports';

/** Number of consecutive rejected batches after which the run has failed. */
const MAX_REFUSED_BATCHES = 3;

/** Nothing that the run plays can be trained on. */
export class Untrainable extends Error {
  override readonly name = 'Untrainable';
}

export interface TrainingLoopParts {
  lease: Pick<Lease, 'epoch' | 'confirm' | 'ensure'>;
  durable: DurableSteps;
  options: Pick<RunFile, 'algorithm' | 'training'>;
  algorithm: Algorithm;
  buffer: GroupBuffer;
  health: TaskHealth;
  progress: Progress;
  weights: PolicyWeights;
  trainer: BatchTrainer;
  /** Undefined if the run has none, or is beyond it. */
  warmStart: WarmStart | undefined;
  checkpoints: CheckpointStore;
  demand: GroupDemand;
  reports: StepReports;
  recovery: Recovery;
  stragglers: Pick<Stragglers, 'takeReplaced'>;
  warnings: RunWarnings;
}

/**
 * Trains as soon as enough groups are complete. The order of actions makes each step happen exactly once, whenever
 * the process ends: weights and the list of their training data are saved together, and uploaded; then the new policy
 * is served and announced; then the groups' messages are acknowledged. A superseded learner gets no further than a
 * saved step that is not announced.
 */
export class TrainingLoop {
  private readonly logger = new Logger('training');
  private running: Promise<void> | undefined;
  private advanceRequested = false;
  private finishing: Promise<void> | undefined;
  /** End of the work after the last step. */
  private idleSince = performance.now();
  /** Number of consecutive rejected batches. */
  private refused = 0;
  /** Indices of groups that are lost. */
  private readonly lost: number[] = [];
  /** Groups and tokens abandoned since the last step because they were too old. */
  private tooOld = { groups: 0, tokens: 0 };

  constructor(private readonly parts: TrainingLoopParts) {}

  get finished(): boolean {
    return this.finishing !== undefined;
  }

  /** Number of trained steps. */
  get steps(): number {
    return this.parts.progress.step;
  }

  /** Why the current step is the last one; undefined if it is not. */
  get endReason(): string | undefined {
    const { options, progress, recovery } = this.parts;
    const { max_steps: steps, warm_start } = options.training;
    if (progress.isWarmingUp) return undefined;
    const isDone = steps > 0 && progress.batches >= steps;
    if (isDone || warm_start.only) return `${progress.step} steps are done`;
    return recovery.ended;
  }

  /** Trains on complete groups; resolves when there are none left. */
  advance(): Promise<void> {
    this.advanceRequested = true;
    this.running ??= this.run();
    return this.running;
  }

  /** Marks groups as lost: the next `advance` abandons them and requests others in their place. */
  abandon(groupIndices: readonly number[]): void {
    this.lost.push(...groupIndices);
  }

  /**
   * Trains on no further batch; the newest checkpoint is the run's last, and episodes that were not trained on are
   * released.
   */
  finish(): Promise<void> {
    this.finishing ??= this.end(this.running);
    return this.finishing;
  }

  private async end(running: Promise<void> | undefined): Promise<void> {
    await running;
    const { checkpoints, progress, reports, buffer, lease } = this.parts;
    await lease.confirm();
    await checkpoints.publish(progress.step, { last: true });
    await reports.publishCheckpoint();
    buffer.close();
  }

  private async run(): Promise<void> {
    // `running` is this promise before it can end.
    await Promise.resolve();
    try {
      while (this.advanceRequested && !this.finished) {
        this.advanceRequested = false;
        await this.trainComplete();
      }
    } finally {
      // Synchronously: later calls have to start a new promise.
      this.running = undefined;
    }
  }

  private async trainComplete(): Promise<void> {
    await this.warmUp();
    await this.dropLost(this.lost.splice(0));
    for (let plan = this.plan(); plan !== null && !this.finished; plan = this.plan()) {
      if (plan.failed.length > 0) await this.dropFailed(plan.failed);
      else if (plan.tooOld.length > 0) await this.dropTooOld(plan.tooOld);
      else if (plan.ready) await this.trainTraced(plan);
      else return this.parts.demand.requestReplacements(plan.replaced.length);
    }
  }

  /** The remaining steps on stored episodes. */
  private async warmUp(): Promise<void> {
    const { progress, durable, warmStart } = this.parts;
    if (warmStart === undefined || !progress.isWarmingUp) return;
    while (progress.isWarmingUp && !this.finished) await this.trainStored(warmStart);
    if (progress.renewsOptimizer) {
      await durable.restore({ optimizer: false });
    }
    this.idleSince = performance.now();
  }

  private async trainStored(warmStart: WarmStart): Promise<void> {
    const { progress, weights } = this.parts;
    const { digest, tokens, metrics, rolloutIds } = await warmStart
      .train(progress.step, weights.current.digest)
      .catch((error: unknown) => this.refuseStored(error));
    this.reach(digest, tokens);
    await this.parts.durable.commit(digest, rolloutIds, { ...metrics, 'progress/batch': progress.step });
    await this.parts.durable.report();
    const loss = metrics['optim/loss'] ?? 0;
    this.logger.log(`warm start, step ${progress.step} of ${warmStart.steps}: loss ${loss.toFixed(4)}`);
  }

  /** @throws Untrainable unless another process may continue */
  private async refuseStored(error: unknown): Promise<never> {
    if (isBeyondBatch(error) || isOfSystem(error)) throw error;
    await this.parts.durable.restore();
    throw new Untrainable(`the warm start cannot continue: ${describeError(error)}`, { cause: error });
  }

  /**
   * Acknowledges groups without a single valid episode before the next step: while the infrastructure is down, there
   * may be more of them than episodes can wait. The policy state records them until the next checkpoint does.
   */
  private async dropFailed(groups: readonly Group[]): Promise<void> {
    const { buffer } = this.parts;
    for (const group of groups) await this.judgeTask(group);
    await this.giveUp(groups);
    buffer.settle(groups);
    this.logger.warn(
      `no episode of ${groups.map(({ id }) => id).join(', ')} counts; other groups are requested in their place`,
    );
  }

  /** Abandons groups that arrived when none of their tokens may be trained on any more. */
  private async dropTooOld(groups: readonly Group[]): Promise<void> {
    await this.giveUp(groups);
    this.parts.buffer.settle(groups);
    this.tooOld.groups += groups.length;
    this.tooOld.tokens += groups.reduce((sum, group) => sum + tokensOf(group), 0);
    this.logger.warn(
      `${groups.map(({ id }) => id).join(', ')} came in too late: every token is more than ` +
        `${this.bound.maxStepsOffPolicy} steps old; other groups are requested in their place`,
    );
  }

  private async dropLost(groupIndices: readonly number[]): Promise<void> {
    if (groupIndices.length === 0) return;
    const { buffer, progress, demand } = this.parts;
    const groups = buffer.openAt(groupIndices);
    for (const group of groups) this.fail(group);
    for (const index of groupIndices) progress.fail(index);
    await demand.announce();
    buffer.settle(groups);
  }

  /** Excludes the task of a failed group if it keeps failing while others succeed. */
  private async judgeTask({ task, problem = 'no reason given' }: Group): Promise<void> {
    const { health, progress, warnings } = this.parts;
    const name = nameOf(task);
    if (!health.failed(task) || progress.takenOut.has(name)) return;
    progress.takenOut.add(name);
    await warnings.send(
      'task_taken_out',
      `task "${name}" is not trained any more: it keeps failing while others are played, at last: ${problem}`,
      `learner.task_taken_out.${name}`,
    );
  }

  /** Settles groups that are not trained on; others are requested in their place. */
  private async giveUp(groups: readonly Group[]): Promise<void> {
    for (const group of groups) this.fail(group);
    await this.parts.demand.announce();
  }

  private fail({ index, trajectories, invalid }: Group): void {
    this.parts.progress.fail(index, trajectories.length + invalid, invalid);
  }

  private plan(): BatchPlan | null {
    if (this.endReason !== undefined) return null;
    const { buffer, progress, options } = this.parts;
    return planBatch(buffer, progress.settled, {
      groupsPerBatch: options.training.groups_per_batch,
      inOrder: options.training.deterministic,
      maxReplacedGroups: replacedGroups(options.algorithm),
      hasLearningSignal: (group) => this.hasLearningSignal(group),
      bound: this.bound,
    });
  }

  /** The age limit of the next step. */
  private get bound(): StalenessBound {
    const { progress, recovery } = this.parts;
    return { step: progress.step, maxStepsOffPolicy: recovery.maxStepsOffPolicy };
  }

  /** An estimator that fails here fails again in training, where its batch is rejected. */
  private hasLearningSignal(group: Group): boolean {
    try {
      const { algorithm, progress } = this.parts;
      return hasLearningSignal(algorithm.estimator, experienceOf(group), progress.carried.memory);
    } catch (error) {
      this.logger.error(describeError(error));
      return true;
    }
  }

  private trainTraced(plan: BatchPlan): Promise<void> {
    const episodes = plan.kept.flatMap(({ trajectories }) => trajectories);
    return traceStep(this.parts.progress.step + 1, episodes, () => this.trainBatch(plan));
  }

  private async trainBatch(plan: BatchPlan): Promise<void> {
    const began = performance.now();
    const ages = this.ageMetrics(plan.kept);
    const hasSignal = plan.trained.some((group) => this.hasLearningSignal(group));
    const verdict = this.parts.recovery.judge(plan, hasSignal);
    const trained =
      verdict.kind === 'restore' ? await this.parts.recovery.goBack(verdict) : await this.tryToTrain(plan);
    if (trained === undefined) return;
    this.advanceProgress(plan, trained.digest, trained.tokens);
    this.parts.progress.carried = trained.carried;
    const metrics = { ...trained.metrics, ...this.batchMetrics(plan), ...ages };
    this.tooOld = { groups: 0, tokens: 0 };
    const rolloutIds = plan.kept.flatMap(({ trajectories }) =>
      trajectories.map(({ request }) => request.rolloutId),
    );
    const waitedMs = began - this.idleSince;
    metrics['time/waiting_for_episodes'] = waitedMs / 1000;
    const checkpointMs = await this.parts.durable.commit(
      trained.digest,
      rolloutIds,
      metrics,
      groupResults([...plan.kept, ...plan.replaced]),
    );
    metrics['idle_ratio/learner'] = waitedMs / 1000 / metrics['time/total'];
    await this.conclude(plan, checkpointMs);
    await this.parts.reports.publishTokens(trained.episodes);
    this.idleSince = performance.now();
  }

  /** Undefined if the batch cannot be trained on; its episodes then become dead letters. */
  private async tryToTrain({ trained: groups, untrained }: BatchPlan): Promise<BatchResult | undefined> {
    const { trainer, progress, weights, recovery } = this.parts;
    const { step, carried } = progress;
    const { learningRate: learningRateFactor, maxStepsOffPolicy } = recovery;
    try {
      const beside = { carried, untrained, learningRateFactor, maxStepsOffPolicy };
      const trained = await trainer.train(groups, step, weights.current.digest, beside);
      this.refused = 0;
      return trained;
    } catch (error) {
      if (isBeyondBatch(error)) throw error;
      await this.parts.durable.restore();
      await this.refuse(groups, error);
      return undefined;
    }
  }

  /** Turns a batch that cannot be trained on into dead letters. @throws Untrainable after too many in a row */
  private async refuse(groups: readonly Group[], error: unknown): Promise<void> {
    const { buffer, warnings, progress } = this.parts;
    this.refused += 1;
    const reason = describeError(error);
    const ids = groups.map(({ id }) => id).join(', ');
    this.logger.error(
      `groups ${ids} cannot be trained: ${reason}`,
      error instanceof Error ? error.stack : undefined,
    );
    await this.giveUp(groups);
    buffer.refuse(
      groups,
      new UnacceptableMessage(`its batch cannot be trained: ${reason}`, { cause: error }),
    );
    await warnings.send(
      'untrainable_batch',
      `groups ${ids} cannot be trained and are dead letters now, others are requested in their place: ${reason}`,
      `learner.untrainable_batch.${progress.step}.${groups[0].index}`,
    );
    if (this.refused >= MAX_REFUSED_BATCHES) {
      throw new Untrainable(`${this.refused} batches in a row could not be trained, at last: ${reason}`, {
        cause: error,
      });
    }
  }

  private advanceProgress(plan: BatchPlan, digest: string, tokens: number): void {
    const { progress } = this.parts;
    this.reach(digest, tokens);
    progress.replacedGroups += plan.replaced.length;
    for (const group of [...plan.kept, ...plan.replaced]) {
      progress.settled.add(group.index);
      progress.counts.trajectories += group.trajectories.length + group.invalid;
      progress.counts.invalid += group.invalid;
    }
    progress.counts.trainedEpisodes += plan.kept.reduce((sum, group) => sum + group.trajectories.length, 0);
  }

  /** Records the weights of the next step. */
  private reach(digest: string, tokens: number): void {
    const { progress } = this.parts;
    progress.step += 1;
    progress.produced(progress.step, digest);
    progress.counts.trainedTokens += tokens;
  }

  private batchMetrics(plan: BatchPlan): Record<string, number> {
    const { options, progress, stragglers } = this.parts;
    const { max_steps: steps } = options.training;
    const { trajectories, invalid } = progress.counts;
    return {
      ...environmentMetrics(plan.kept),
      ...curriculumMetrics([...plan.kept, ...plan.replaced]),
      'env/all/groups_replaced': plan.replaced.length,
      'async/stragglers': stragglers.takeReplaced(),
      'env/all/invalid_share': trajectories === 0 ? 0 : invalid / trajectories,
      'progress/batch': progress.step,
      ...(steps > 0 ? { 'progress/done_frac': progress.batches / steps } : {}),
    };
  }

  /** Ages of the training data before the step. */
  private ageMetrics(groups: readonly Group[]): Record<string, number> {
    const metrics = stalenessMetrics(groups, this.bound);
    const masked = (metrics['async/tokens_masked'] ?? 0) + this.tooOld.tokens;
    return { ...metrics, 'async/tokens_masked': masked, 'async/groups_too_old': this.tooOld.groups };
  }

  /** Reports a durable step and acknowledges its episodes. */
  private async conclude(plan: BatchPlan, checkpointMs: number): Promise<void> {
    const { buffer, progress, reports } = this.parts;
    const { step, lastStep } = progress;
    const settled = [...plan.kept, ...plan.replaced];
    await this.parts.durable.report(() => {
      reports.logEpisodes(plan.kept);
      buffer.settle(settled);
    });
    await reports.warnOfDrift();
    const reward = lastStep?.metrics['env/all/reward/total'] ?? 0;
    this.logger.log(
      `step ${step}: reward ${reward.toFixed(3)}, ${settled.length} groups, checkpoint in ${Math.round(checkpointMs)} ms`,
    );
  }
}

const BEYOND_BATCH: ReadonlySet<string> = new Set([
  'closed',
  'unavailable',
  'authorization',
  'configuration',
]);

/** Whether an error comes from the machine, such as a missing file: another process may continue. */
function isOfSystem(error: unknown): boolean {
  return error instanceof Error && 'errno' in error;
}

/**
 * Whether an error does not concern the batch: this process is stopping, or something outside is unavailable, such as
 * screenshots.
 */
function isBeyondBatch(error: unknown): boolean {
  return error instanceof BusError && BEYOND_BATCH.has(error.category);
}
