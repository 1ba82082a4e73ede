import type { RunFile } from './run-file';

/** Share of all minutes for starting services, completing the last step and saving its checkpoint. */
const MARGIN = 0.05;
/** Share of all minutes for a final evaluation if no baseline was measured. */
const ASSUMED_EVALUATION = 0.15;
/** Minimum share of all minutes for training, even if the baseline took the rest. */
const LEAST_TRAINING = 0.1;

export type TimeLimits = Pick<RunFile['training'], 'max_minutes' | 'total_minutes'>;

/**
 * Time limit of training in minutes; `Infinity` without a limit. The final evaluation plays the same episodes as the
 * baseline, so the baseline's duration is reserved for it.
 *
 * @param minutesBefore from the announcement of the run to the start of its training
 */
export function trainingMinutes(
  { max_minutes: most, total_minutes: total }: TimeLimits,
  minutesBefore: number,
  hasBaseline: boolean,
): number {
  const own = most > 0 ? most : Infinity;
  if (total === 0) return own;
  const evaluation = hasBaseline ? minutesBefore : ASSUMED_EVALUATION * total;
  const rest = total * (1 - MARGIN) - minutesBefore - evaluation;
  return Math.min(own, Math.max(rest, LEAST_TRAINING * total));
}
