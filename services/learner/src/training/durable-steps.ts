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

/** Newest checkpoints that are kept, whatever their step: a running evaluation may use one, and the collapse guard those of a batch. */
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
  /** Steps that the policy of a batch may be behind. */
  maxStepsOffPolicy: number;
}

/**
 * Makes steps durable, in the order in which each happens once: saved and uploaded, then served, then reported. A learner that another
 * one has taken over from gets no further than to a saved step that nobody is told of.
 */
export class DurableSteps {
  /** When the last step was durable. */
  private lastStepEnded = performance.now();

  constructor(private readonly parts: DurableStepsParts) {}

  /** Saves weights, optimizer and progress under the present step, for this machine and others. */
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
   * Saves and serves what a step has reached, and asks for what the next one needs.
   * @param digest of the weights now
   * @param metrics get the times of all this
   * @param groups how the groups of the step ended
   * @returns ms it took
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
      ...(groups === undefined ? {} : { groups }),
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

  /** As after the last step: a batch's first optimizer steps may have been taken since. Rejects where the engine itself is broken. */
  async restore({ optimizer = !this.parts.progress.renewsOptimizer } = {}): Promise<void> {
    const { models, checkpoints, progress } = this.parts;
    await models.restore(checkpoints.folder.pathOf(progress.step), { optimizer });
  }

  /**
   * Takes the weights of an earlier step, with the optimizer's state of then.
   * @returns their digest, and what was carried then; undefined where the checkpoint is gone
   */
  async goBackTo(step: number): Promise<{ digest: string; carried: Carried } | undefined> {
    const { models, checkpoints, progress } = this.parts;
    const dir = await checkpoints.find(step);
    if (dir === undefined) return undefined;
    const { digest } = await models.restore(dir, { optimizer: !progress.renewsOptimizerAfter(step) });
    return { digest, carried: await readCarried(dir) };
  }

  /** The step is durable: reports it, lets what it was trained on go, and deletes checkpoints that are not kept. */
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
