import { filesOfRun, type RunFile } from '@ui-rl/settings';
import { loadTasks, type ComponentRegistry } from '@ui-rl/plugin-kit';
import type { RunObserver } from './run-observer';
import type { PhaseGoal } from './progress';

/**
 * How many episodes one evaluation of all sets takes; reads the task sources, so that a wrong one fails at once. 0 where that cannot
 * be told here, since files of theirs are at the broker.
 */
export async function evaluationEpisodes(run: RunFile, registry: ComponentRegistry): Promise<number> {
  const files = filesOfRun(run, registry).filter(({ option }) => /^(eval_)?tasks\b/.test(option));
  if (files.some(({ isAddress }) => isAddress)) return 0;
  const count = async (sources: RunFile['tasks']) => (await loadTasks(registry, sources)).length;
  const sets = run.evaluation.sets;
  const training = sets.includes('train_goals') ? await count(run.tasks) : 0;
  const unseen = sets.includes('eval_goals') ? await count(run.eval_tasks) : 0;
  return (training + unseen) * run.evaluation.episodes_per_task;
}

/** How far a phase has come, by its own measure: episodes of an evaluation, steps or minutes of the training. */
export function phaseGoal(
  run: RunFile,
  evaluation: number,
  observer: RunObserver,
  now = Date.now(),
): PhaseGoal {
  const seconds = (now - observer.phaseSince) / 1000;
  const done = phaseDone(run, evaluation, observer, seconds);
  if (done === null) return { done: 0, secondsLeft: null };
  const certain = Math.min(1, done);
  return { done: certain, secondsLeft: certain > 0.01 ? (seconds / certain) * (1 - certain) : null };
}

function phaseDone(run: RunFile, evaluation: number, observer: RunObserver, seconds: number): number | null {
  if (observer.phase === 'baseline' || observer.phase === 'final_eval') {
    return evaluation === 0 ? null : observer.phaseEpisodes / evaluation;
  }
  if (observer.phase !== 'training') return null;
  const { max_minutes: minutes, max_steps: steps } = run.training;
  const shares = [
    ...(minutes > 0 ? [seconds / (60 * minutes)] : []),
    ...(steps > 0 ? [observer.trainSteps / steps] : []),
  ];
  return shares.length === 0 ? null : Math.max(...shares);
}
