import { bar, clock } from '../report/progress';
import { percent } from '../report/intervals';
import type { EvalProgress } from './evaluate';

/** Progress of an evaluation, on one line. */
export function evaluationProgress(progress: EvalProgress | undefined): string {
  if (progress === undefined) return 'starting';
  const { label, done, valid, judged, successes, episodes, candidates, candidatesDone, seconds } = progress;
  const rate = done / Math.max(0.001, seconds);
  const parts = [
    candidates > 1 ? `${label} (${candidatesDone + 1} of ${candidates})` : label,
    bar(done / episodes),
    `${done}/${episodes}`,
    `${rate.toFixed(1)} episodes/s`,
    ...(judged > 0 ? [`success ${percent(successes / judged)}`] : []),
    ...(valid < done ? [`${done - valid} invalid`] : []),
    `${clock((episodes - done) / rate)} left`,
  ];
  return parts.join('  ');
}
