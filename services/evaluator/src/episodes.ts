import {
  type CheckpointEvent,
  environmentSeed,
  groupOfOne,
  type OpenEvaluation,
  type RolloutRequest,
  samplingSeed,
} from '@ui-rl/contracts';
import type { LoadedTask } from '@ui-rl/plugin-kit';
import type { EvaluationPlan, GoalSet } from './plan';

export type Stage = OpenEvaluation['stage'];

/**
 * The evaluation stage of a checkpoint during training; undefined if there is none. The final evaluation covers the
 * last one. Steps of a warm start are short: evaluating many of them would delay the first episodes of reinforcement
 * learning.
 */
export function stageOf(
  { step, last = false, warmStart }: Pick<CheckpointEvent, 'step' | 'last' | 'warmStart'>,
  plan: Pick<EvaluationPlan, 'every' | 'warmStart' | 'onlyWarmStart'>,
): Stage | undefined {
  const { every } = plan;
  if (last) return undefined;
  if (warmStart === 'done' && plan.warmStart) return 'warm_start';
  if (warmStart !== undefined && !plan.onlyWarmStart) return undefined;
  return every > 0 && step > 0 && step % every === 0 ? 'periodic' : undefined;
}

/** Unique among all runs, and therefore also the rollout ids that are derived from it. */
export function evaluationId(runId: string, stage: Stage, version: number, set: string): string {
  const when = stage === 'periodic' ? `${stage}-${String(version).padStart(6, '0')}` : stage;
  return `${runId}-${when}-${set}`;
}

export function setOf(plan: EvaluationPlan, evaluation: OpenEvaluation): GoalSet {
  const set = plan.sets.find(({ name }) => name === evaluation.set);
  if (set !== undefined && set.tasks.length * plan.episodesPerTask === evaluation.outcomes.length) return set;
  throw new Error(
    `${evaluation.evaluationId} was begun with ${evaluation.outcomes.length} episodes; the run file and the plugins now ` +
      `give ${(set?.tasks.length ?? 0) * plan.episodesPerTask}: bring back the plugins the run was started with`,
  );
}

/** The task of an episode: neighbours in the queue play different ones. */
export function taskOf(set: GoalSet, index: number): LoadedTask {
  return set.tasks[index % set.tasks.length];
}

/**
 * The rollout request of one evaluation episode. Every stage plays the same seeds, so that stages can be compared in
 * pairs; none of them is in the range of the training seeds. Each episode is a separate group.
 */
export function episodeRollout(
  plan: EvaluationPlan,
  evaluation: OpenEvaluation,
  index: number,
  attempt: number,
): RolloutRequest {
  const set = setOf(plan, evaluation);
  const task = taskOf(set, index);
  const seeds = [plan.seed, set.name, task.id, Math.floor(index / set.tasks.length)];
  const groupId = `${evaluation.evaluationId}-${String(index).padStart(4, '0')}`;
  return {
    ...groupOfOne(groupId, index, attempt),
    runId: plan.runId,
    purpose: evaluation.stage === 'baseline' ? 'baseline' : 'eval',
    task,
    seed: environmentSeed('evaluation', ...seeds),
    samplingSeed: samplingSeed('evaluation', ...seeds),
    policy: evaluation.policy,
    evaluationId: evaluation.evaluationId,
  };
}
