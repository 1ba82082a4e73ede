import { GraphError } from '../errors';

/** How the learning rate goes on after warm-up. */
export type ScheduleKind = 'constant' | 'linear' | 'cosine';

/** A learning rate over a run. */
export interface LearningRateSchedule {
  readonly kind: ScheduleKind;
  /** the rate after warm-up */
  readonly peak: number;
  /** steps of the whole run; needed by `linear` and `cosine`, which reach the final rate there */
  readonly totalSteps?: number;
  /** steps over which the rate rises evenly to `peak`; default 0 */
  readonly warmupSteps?: number;
  /** the last rate as a part of `peak`; default 0 */
  readonly finalFraction?: number;
}

/**
 * The learning rate of step 0, 1, 2, … Warm-up step s has `peak · (s + 1) / warmupSteps`, so that no step is wasted at
 * rate 0; past `totalSteps` the final rate stays. Throws `GraphError` where `totalSteps` is missing or not larger than
 * the warm-up.
 */
export function learningRateAt(schedule: LearningRateSchedule, step: number): number {
  const { kind, peak, totalSteps, warmupSteps = 0, finalFraction = 0 } = schedule;
  if (step < warmupSteps) return (peak * (step + 1)) / warmupSteps;
  if (kind === 'constant') return peak;
  if (totalSteps === undefined || totalSteps <= warmupSteps) {
    throw new GraphError(
      'build',
      `a ${kind} learning rate needs totalSteps above warmupSteps (${warmupSteps}), found ${totalSteps ?? 'none'}`,
    );
  }
  const progress = Math.min(1, (step - warmupSteps) / (totalSteps - warmupSteps));
  const remaining = kind === 'linear' ? 1 - progress : (1 + Math.cos(Math.PI * progress)) / 2;
  return peak * (finalFraction + (1 - finalFraction) * remaining);
}
