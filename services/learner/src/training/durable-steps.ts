import type { Lease } from '@ui-rl/bus';
import type { GroupResult } from '@ui-rl/contracts';
import type { CheckpointStore } from '../checkpoints/checkpoint-store';
import type { RunModels } from '../checkpoints/run-models';
import { IndexSet } from '../episodes/index-set';
import type { PolicyWeights } from '../policy/policy-weights';
import type { RunWarnings } from '../warnings';
import { whileDiskIsFull } from './disk-full';
import type { GroupDemand } from './group-demand';
import type { Progress } from './progress';
import { filesOfCarried, readCarried, type Carried } from './stored/kept-episodes';
import type { StepReports } from './step-reports';

/**
 * Number of newest checkpoints that are always kept: a running evaluation may use one, and the collapse guard those
 * of a batch.
 */
const KEPT_NEWEST = 3;

export interface DurableStepsParts {
  lease: Pick<Lease, 'epoch' | 'confirm' | 'ensure'>;
  models: RunModels;
  progress: Progress;
  weights: PolicyWeights;
  checkpoints: CheckpointStore;
  demand: GroupDemand;
  reports: StepReports;
  warnings: RunWarnings;
  /** Maximum number of steps between the policy of a batch and the current one. */
  maxStepsOffPolicy: number;
}

/**
 * Makes steps durable in a fixed order, each action exactly once: saved and uploaded, then served, then reported. A
 * superseded learner gets no further than a saved step that is not announced.
 */
export class DurableSteps {
  /** When the last step became durable. */
  private lastStepEnded = performance.now();

  constructor(private readonly parts: DurableStepsParts) {}

  /** Saves weights, optimizer and progress under the current step, for this machine and others. */
  async save(): Promise<{ uploadMs: number }> {
    const { models, checkpoints, progress, warnings, lease } = this.parts;
    const { dir: folder } = checkpoints.folder;
    const files = {
      'state.json': `${JSON.stringify(progress.toState(lease.epoch), null, 2)}\n`,
      ...filesOfCarried(progress.carried),
    };
    await whileDiskIsFull(warnings, folder, () =>
      checkpoints.save(progress.step, (dir) => models.save(dir, files)),
    );
    progress.failed = new IndexSet();
    const began = performance.now();
    await whileDiskIsFull(warnings, folder, () => checkpoints.publish(progress.step));
    return { uploadMs: performance.now() - began };
  }

  /**
   * Saves and serves the result of a step, and requests the groups of the next one.
   * @param digest of the current weights
   * @param metrics receive the times of all this
   * @param groups results of the step's groups
   * @returns duration in ms
   */
  async commit(
    digest: string,
    rolloutIds: string[],
    metrics: Record<string, number>,
    groups?: GroupResult[],
  ): Promise<number> {
    const { progress, weights, demand, lease } = this.parts;
    const began = performance.now();
    progress.lastStep = {
      epoch: lease.epoch,
      rolloutIds,
      groups,
      metrics,
    };
    await weights.publish(progress.step);
    const { uploadMs } = await this.save();
    await lease.confirm();
    await weights.activate(progress.step, digest);
    await demand.announce();
    const ended = performance.now();
    metrics['time/checkpoint'] = (ended - began) / 1000;
    metrics['time/upload'] = uploadMs / 1000;
    metrics['time/total'] = (ended - this.lastStepEnded) / 1000;
    this.lastStepEnded = ended;
    return ended - began;
  }

  /**
   * Restores the state after the last step: a batch's first optimizer steps may have been taken since. Rejects if the
   * engine itself has failed.
   */
  async restore({ optimizer = !this.parts.progress.renewsOptimizer } = {}): Promise<void> {
    const { models, checkpoints, progress } = this.parts;
    await models.restore(checkpoints.folder.pathOf(progress.step), { optimizer });
  }

  /**
   * Restores the weights of an earlier step, with the optimizer state of that time.
   * @returns their digest, and the estimator's state of that time; undefined if the checkpoint is gone
   */
  async goBackTo(step: number): Promise<{ digest: string; carried: Carried } | undefined> {
    const { models, checkpoints, progress } = this.parts;
    const dir = await checkpoints.find(step);
    if (dir === undefined) return undefined;
    const { digest } = await models.restore(dir, { optimizer: !progress.renewsOptimizerAfter(step) });
    return { digest, carried: await readCarried(dir) };
  }

  /** Reports a durable step, releases its training data, and deletes checkpoints that are not kept. */
  async report(settle: () => void = () => undefined): Promise<void> {
    const { reports, checkpoints, models, lease, progress, maxStepsOffPolicy } = this.parts;
    await lease.ensure();
    await reports.trackLastStep(new Date().toISOString());
    await reports.publishLastStep();
    settle();
    const newest = Math.max(KEPT_NEWEST, maxStepsOffPolicy + 2);
    await checkpoints.prune(newest, (dir) => models.forget(dir), progress.guard.best);
  }
}
