import type { Trajectory } from '@ui-rl/contracts';
import type { CollapseGuardGroup } from '@ui-rl/settings';
import type { BatchPlan } from '../../episodes/batch-planner';
import type { PolicyWeights } from '../../policy/policy-weights';
import type { RunWarnings } from '../../warnings';
import type { BatchResult } from '../batch-trainer';
import { groupResults } from '../curriculum';
import type { DurableSteps } from '../durable-steps';
import type { Progress } from '../progress';
import { oldestVersion } from '../staleness';
import { CollapseGuard, type GuardedBatch, type Verdict } from './collapse-guard';
import type { Score } from './scores';

export interface RecoveryParts {
  options: CollapseGuardGroup;
  maxStepsOffPolicy: number;
  progress: Progress;
  durable: Pick<DurableSteps, 'goBackTo'>;
  weights: Pick<PolicyWeights, 'current'>;
  warnings: RunWarnings;
}

/** Passes the batches of a run to its collapse guard, and restores earlier weights on its decision. */
export class Recovery {
  constructor(private readonly parts: RecoveryParts) {}

  /** Why the run should end; undefined while it should continue. */
  get ended(): string | undefined {
    return this.parts.progress.guard.ended;
  }

  /** Factor on the learning rate. */
  get learningRate(): number {
    return this.parts.progress.guard.learningRate;
  }

  /**
   * Maximum age in steps of the policy of a trained token: policies from before the last restore belong to another
   * lineage.
   */
  get maxStepsOffPolicy(): number {
    const { maxStepsOffPolicy, progress } = this.parts;
    return Math.max(0, Math.min(maxStepsOffPolicy, progress.step - progress.guard.notBefore));
  }

  /** Judges a batch before training on it. @param hasSignal whether training on it would change the policy */
  judge(plan: BatchPlan, hasSignal: boolean): Verdict {
    const { options, progress } = this.parts;
    const groups = [...plan.kept, ...plan.replaced];
    const batch: GuardedBatch = {
      step: this.sampledBy(groups.map(oldestVersion)),
      results: groupResults(groups),
      readable: readableAnswers(groups.flatMap(({ trajectories }) => trajectories)),
      hasSignal,
    };
    return new CollapseGuard(options, progress.guard).judge(batch);
  }

  /**
   * A step that restores earlier weights instead of training; if they are gone, it keeps the current ones, which ends
   * the run.
   */
  async goBack({ step, reason }: Extract<Verdict, { kind: 'restore' }>): Promise<BatchResult> {
    const { durable, progress, weights, warnings } = this.parts;
    const { guard } = progress;
    const found = await durable.goBackTo(step);
    if (found === undefined) guard.ended = `${reason}; but its checkpoint is gone`;
    guard.notBefore = progress.step + 1;
    await warnings.send('collapse', guard.ended ?? reason, `learner.collapse.${guard.notBefore}`);
    return {
      digest: found?.digest ?? weights.current.digest,
      carried: found?.carried ?? progress.carried,
      tokens: 0,
      episodes: [],
      metrics: { 'optim/substeps': 0, 'guard/restored_step': step, 'guard/restores': guard.restores },
    };
  }

  /** The oldest policy of a batch whose tokens may be trained on. */
  private sampledBy(versions: readonly number[]): number {
    const { step } = this.parts.progress;
    return Math.max(step - this.maxStepsOffPolicy, Math.min(step, ...versions));
  }
}

function readableAnswers(episodes: readonly Trajectory[]): Score {
  const turns = episodes.flatMap((episode) => episode.turns);
  return [turns.filter(({ parseError }) => parseError === undefined).length, turns.length];
}
