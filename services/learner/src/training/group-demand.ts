import type { BusService, Lease } from '@ui-rl/bus';
import { checkpointName } from '@ui-rl/contracts';
import type { RunFile } from '@ui-rl/settings';
import type { PolicyWeights } from '../policy/policy-weights';
import type { Progress } from './progress';

export interface GroupDemandParts {
  runId: string;
  bus: BusService;
  lease: Pick<Lease, 'epoch'>;
  options: Pick<RunFile, 'training' | 'async'>;
  progress: Progress;
  weights: PolicyWeights;
}

/**
 * Publishes the current sampling policy and the number of requested groups, which bounds the age of the policy of a
 * trained group.
 */
export class GroupDemand {
  private requested = 0;

  constructor(private readonly parts: GroupDemandParts) {}

  /** Number of groups requested since the start of the run. */
  get groupsRequested(): number {
    return this.requested;
  }

  /** Publishes the current sampling policy, and requests the groups of the next batches. @throws LeaseLost */
  async announce(): Promise<void> {
    const { bus, runId } = this.parts;
    const before = await bus.runs.policy(runId);
    this.requested = Math.max(this.needed(), before?.groupsRequested ?? 0);
    await this.publish();
  }

  /** Requests other groups in place of those without learning signal. */
  async requestReplacements(count: number): Promise<void> {
    const needed = this.needed(count);
    if (needed <= this.requested) return;
    this.requested = needed;
    await this.publish();
  }

  private async publish(): Promise<void> {
    const { bus, lease, runId, weights, progress } = this.parts;
    const { step, digest } = weights.current;
    await bus.runs.putPolicy(runId, {
      epoch: lease.epoch,
      version: step,
      adapterDigest: digest,
      checkpoint: checkpointName({ runId, step }),
      groupsRequested: this.requested,
      failedGroups: progress.failed.toString(),
      takenOut: [...progress.takenOut],
    });
  }

  private needed(replacedNow = 0): number {
    const { options, progress } = this.parts;
    const { max_steps: steps, groups_per_batch: groups, warm_start } = options.training;
    if (progress.isWarmingUp || warm_start.only) return 0;
    const ahead = progress.batches + 1 + options.async.max_steps_off_policy;
    const batches = steps > 0 ? Math.min(ahead, steps) : ahead;
    return batches * groups + progress.replacedGroups + replacedNow;
  }
}
