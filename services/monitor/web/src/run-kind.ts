import type { RunDetail, RunSummary } from '@ui-rl/records';

/** The goal sets that a training run evaluates; an evaluation names its checkpoints instead. */
export const GOAL_SETS = ['train_goals', 'eval_goals'];

/** Runs that a page overlays, at most: the number of distinguishable colours. */
export const MAX_OVERLAID = 5;

/** Whether a run only evaluates checkpoints: nothing in it is trained. */
export function isEvaluation({ evaluations, steps, log }: RunDetail): boolean {
  if (steps > 0) return false;
  if (evaluations.some(({ set }) => !GOAL_SETS.includes(set))) return true;
  // `ui-rl eval` begins with the phase that ends a training.
  const phases = log.filter(({ type }) => type === 'phase').map(({ data }) => data.phase);
  return phases.length > 0 && !phases.includes('baseline') && !phases.includes('training');
}

export function isOver({ phase }: RunSummary): boolean {
  return phase === 'finished' || phase === 'failed' || phase === 'stopped';
}
