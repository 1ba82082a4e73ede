import type { BaseModel, CheckpointEvent, PolicySpan, Trajectory } from '@ui-rl/contracts';
import type { LearnerState } from '../checkpoints/learner-state';
import { IndexSet } from '../episodes/index-set';
import { firstState, type GuardState } from './guard/guard-state';
import { spansOf } from './staleness';
import { NOTHING_CARRIED, type Carried } from './stored/kept-episodes';

/** Number of digests that are kept; older policies cannot be sampling any more. */
const KEPT_DIGESTS = 1000;

/** Progress of a run: the state that survives the process. */
export class Progress {
  step = 0;
  /** Steps of the warm start, which precede those of reinforcement learning. */
  warmStartSteps = 0;
  replacedGroups = 0;
  /** Of settled groups. */
  readonly counts = { trajectories: 0, invalid: 0, trainedEpisodes: 0, trainedTokens: 0 };
  settled = new IndexSet();
  /** Settled groups that failed since the newest checkpoint, which does not include them. */
  failed = new IndexSet();
  /** Tasks that are no longer trained on, because they keep failing. Stored in the policy state. */
  readonly takenOut = new Set<string>();
  lastStep: LearnerState['lastStep'] = null;
  /** The advantage estimator's state between batches. */
  carried: Carried = NOTHING_CARRIED;
  /** State of the collapse guard. */
  guard: GuardState = firstState();
  private digests: Record<string, string> = {};

  constructor(
    private readonly runId: string,
    private readonly model: BaseModel,
    /** Device of the run's first start; undefined if it was not recorded. */
    private readonly device?: string,
  ) {}

  static from(state: LearnerState, carried: Carried, model: BaseModel, device: string): Progress {
    const progress = new Progress(state.runId, model, state.device ?? device);
    progress.step = state.step;
    progress.warmStartSteps = state.warmStartSteps ?? 0;
    progress.replacedGroups = state.replacedGroups;
    Object.assign(progress.counts, state.counts);
    progress.settled = IndexSet.parse(state.settledGroups);
    progress.digests = { ...state.digests };
    progress.lastStep = state.lastStep;
    progress.carried = carried;
    progress.guard = state.guard ?? firstState();
    return progress;
  }

  get isWarmingUp(): boolean {
    return this.step < this.warmStartSteps;
  }

  /** The step's position in the warm start; undefined beyond it, and without one. */
  get warmStart(): CheckpointEvent['warmStart'] {
    if (this.isWarmingUp) return 'running';
    return this.renewsOptimizer ? 'done' : undefined;
  }

  /** Number of reinforcement learning steps so far. */
  get batches(): number {
    return Math.max(0, this.step - this.warmStartSteps);
  }

  /** Whether the warm start is over and the next step starts with a new optimizer. */
  get renewsOptimizer(): boolean {
    return this.renewsOptimizerAfter(this.step);
  }

  /** Whether a step was the last of the warm start. */
  renewsOptimizerAfter(step: number): boolean {
    return this.warmStartSteps > 0 && step === this.warmStartSteps;
  }

  /** Settles a group that is not trained on, with its episode counts; another one is requested in its place. */
  fail(index: number, trajectories = 0, invalid = 0): void {
    if (this.settled.has(index)) return;
    this.settled.add(index);
    this.failed.add(index);
    this.replacedGroups += 1;
    this.counts.trajectories += trajectories;
    this.counts.invalid += invalid;
  }

  /** Records the weights that sample at a step. */
  produced(step: number, digest: string): void {
    this.digests[step] = digest;
    for (const old of Object.keys(this.digests)) {
      if (Number(old) <= step - KEPT_DIGESTS) delete this.digests[old];
    }
  }

  /** The first sampler of the trajectory's tokens that was never a policy of this run; undefined if there is none. */
  unknownPolicy(trajectory: Trajectory): PolicySpan | undefined {
    return trajectory.turns.flatMap(spansOf).find(({ version, digest }) => this.digests[version] !== digest);
  }

  /** @param epoch of the lease of the learner that writes it */
  toState(epoch: number): LearnerState {
    return {
      format: 1,
      runId: this.runId,
      epoch,
      model: this.model,
      device: this.device,
      step: this.step,
      ...(this.warmStartSteps === 0 ? {} : { warmStartSteps: this.warmStartSteps }),
      digests: this.digests,
      settledGroups: this.settled.toString(),
      replacedGroups: this.replacedGroups,
      counts: this.counts,
      savedAt: new Date().toISOString(),
      lastStep: this.lastStep,
      guard: this.guard,
    };
  }
}
