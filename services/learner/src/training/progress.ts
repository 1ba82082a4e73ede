import type { BaseModel, CheckpointEvent, PolicySpan, Trajectory } from '@ui-rl/contracts';
import type { LearnerState } from '../checkpoints/checkpoint-folder';
import { IndexSet } from '../episodes/index-set';
import { firstState, type GuardState } from './guard/guard-state';
import { spansOf } from './staleness';
import { NOTHING_CARRIED, type Carried } from './stored/kept-episodes';

/** Digests of so many steps are kept; older policies cannot be sampling any more. */
const KEPT_DIGESTS = 1000;

/** How far a run has come: what has to survive the end of the process. */
export class Progress {
  step = 0;
  /** Steps of the warm start, which come before those of reinforcement learning. */
  warmStartSteps = 0;
  replacedGroups = 0;
  /** Of settled groups. */
  readonly counts = { trajectories: 0, invalid: 0, trainedEpisodes: 0, trainedTokens: 0 };
  settled = new IndexSet();
  /** Of the settled groups those that failed since the newest checkpoint, which does not have them. */
  failed = new IndexSet();
  /** Tasks that are not trained any more, since they keep failing. The policy state has them. */
  readonly takenOut = new Set<string>();
  lastStep: LearnerState['lastStep'] = null;
  /** What the advantage estimator carries from batch to batch. */
  carried: Carried = NOTHING_CARRIED;
  /** What the collapse guard remembers. */
  guard: GuardState = firstState();
  private digests: Record<string, string> = {};

  constructor(
    private readonly runId: string,
    private readonly model: BaseModel,
    /** Where the run began; undefined where nobody noted that. */
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

  /** Where the step stands in the warm start; undefined beyond it, and where there is none. */
  get warmStart(): CheckpointEvent['warmStart'] {
    if (this.isWarmingUp) return 'running';
    return this.renewsOptimizer ? 'done' : undefined;
  }

  /** Steps of reinforcement learning so far. */
  get batches(): number {
    return Math.max(0, this.step - this.warmStartSteps);
  }

  /** Whether the warm start is over and the next step begins with an optimizer of its own. */
  get renewsOptimizer(): boolean {
    return this.renewsOptimizerAfter(this.step);
  }

  /** Whether a step was the last of the warm start. */
  renewsOptimizerAfter(step: number): boolean {
    return this.warmStartSteps > 0 && step === this.warmStartSteps;
  }

  /** Settles a group that is not trained, with so many episodes; another one is requested in its place. */
  fail(index: number, trajectories = 0, invalid = 0): void {
    if (this.settled.has(index)) return;
    this.settled.add(index);
    this.failed.add(index);
    this.replacedGroups += 1;
    this.counts.trajectories += trajectories;
    this.counts.invalid += invalid;
  }

  /** Notes which weights sample at a step. */
  produced(step: number, digest: string): void {
    this.digests[step] = digest;
    for (const old of Object.keys(this.digests)) {
      if (Number(old) <= step - KEPT_DIGESTS) delete this.digests[old];
    }
  }

  /** Who sampled tokens of the trajectory and was never a policy of this run; undefined where there is none. */
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
