import { trainingMinutes, type RunFile } from '@ui-rl/settings';
import type { TaskCounts } from '../run/run-tasks';
import type { RunObserver } from './run-observer';
import type { PhaseGoal } from './progress';

/** Number of episodes that one evaluation of all sets takes. 0 if unknown because task files are at the broker. */
export function evaluationEpisodes(run: RunFile, counts: TaskCounts | null): number {
  if (counts === null) return 0;
  const { sets, max_tasks: most } = run.evaluation;
  const evaluated = (set: 'train_goals' | 'eval_goals', count: number): number =>
    sets.includes(set) ? Math.min(count, most === 0 ? Infinity : most) : 0;
  const [training, unseen] = [
    evaluated('train_goals', counts.training),
    evaluated('eval_goals', counts.evaluation),
  ];
  return (training + unseen) * run.evaluation.episodes_per_task;
}

/**
 * Progress of a phase in its unit: episodes of an evaluation, steps or minutes of training. The time left is that of the
 * whole run, estimated from what has been measured: the final evaluation takes as long as the baseline, and before the
 * first step training plays its episodes at the rate of the baseline, at most until its time limit.
 */
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
  if (certain <= 0.01) return { done: certain, secondsLeft: null };
  const rest = (seconds / certain) * (1 - certain);
  const after = secondsAfter(run, evaluation, observer, seconds / certain);
  return { done: certain, secondsLeft: after === null ? null : rest + after };
}

/** Estimated seconds of the phases after this one; null while nothing says how long they take. */
function secondsAfter(
  run: RunFile,
  evaluation: number,
  observer: RunObserver,
  phaseSeconds: number,
): number | null {
  if (observer.phase === 'final_eval') return 0;
  if (observer.phase === 'training') return observer.baselineSeconds ?? 0;
  const { max_steps: steps, groups_per_batch: groups } = run.training;
  const limit = 60 * trainingMinutes(run.training, observer.minutesBefore + phaseSeconds / 60, true);
  const episodes = steps * groups * run.rollout.group_size;
  const played = steps > 0 ? (episodes * phaseSeconds) / evaluation : Infinity;
  const training = Math.min(limit, played);
  return training === Infinity ? null : training + phaseSeconds;
}

function phaseDone(run: RunFile, evaluation: number, observer: RunObserver, seconds: number): number | null {
  if (observer.phase === 'baseline' || observer.phase === 'final_eval') {
    return evaluation === 0 ? null : observer.phaseEpisodes / evaluation;
  }
  if (observer.phase !== 'training') return null;
  const minutes = trainingMinutes(run.training, observer.minutesBefore, run.evaluation.baseline);
  const steps = stepsOf(run, observer);
  const shares = [
    ...(minutes < Infinity ? [seconds / (60 * minutes)] : []),
    ...(steps > 0 ? [observer.trainSteps / steps] : []),
  ];
  return shares.length === 0 ? null : Math.max(...shares);
}

/** Steps of the whole training, including the warm start; 0 if only a time limit ends it. */
function stepsOf(
  { training: { max_steps: most, warm_start: warm } }: RunFile,
  { warmSteps }: RunObserver,
): number {
  if (warm.only) return warmSteps;
  return most > 0 ? warmSteps + most : 0;
}
