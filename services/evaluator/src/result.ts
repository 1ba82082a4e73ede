import { type EvaluationEvent, type OpenEvaluation, type TaskScore, wilson } from '@ui-rl/contracts';
import { setOf } from './episodes';
import { evaluationMetrics } from './metrics';
import type { EvaluationPlan } from './plan';
import { tally } from './state';

/** The score of an evaluation with all of its episodes. Invalid episodes are excluded. */
export function resultOf(
  plan: EvaluationPlan,
  evaluation: OpenEvaluation,
  checkpoint: string,
): Omit<EvaluationEvent, 'at'> {
  const { evaluationId, stage, set, policyVersion } = evaluation;
  const { successes, episodes, invalid, unjudged } = tally(evaluation);
  const tasks = taskScores(plan, evaluation);
  return {
    type: 'evaluation',
    runId: plan.runId,
    evaluationId,
    stage,
    set,
    policyVersion,
    checkpoint,
    successRate: episodes === 0 ? null : successes / episodes,
    interval: wilson(successes, episodes),
    episodes,
    invalid,
    ...(unjudged === 0 ? {} : { unjudged }),
    tasks,
    metrics: evaluationMetrics(evaluation, tasks),
  };
}

function taskScores(plan: EvaluationPlan, evaluation: OpenEvaluation): TaskScore[] {
  const { tasks } = setOf(plan, evaluation);
  return tasks.map(({ id, description }, index) => {
    const { successes, episodes } = tally(evaluation, (episode) => episode % tasks.length === index);
    return { taskId: id, description, successes, episodes };
  });
}
