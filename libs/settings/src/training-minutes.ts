import type { RunFile } from './run-file';

/** Of all minutes: what starting services, ending the last step and saving its checkpoint take. */
const MARGIN = 0.05;
/** Of all minutes, for a final evaluation where no baseline was measured. */
const ASSUMED_EVALUATION = 0.15;
/** Of all minutes, trained even where the baseline has taken the rest. */
const LEAST_TRAINING = 0.1;

export type TimeLimits = Pick<RunFile['training'], 'max_minutes' | 'total_minutes'>;

/**
 * Minutes that a training may take; `Infinity` without a limit. The final evaluation plays the same episodes as the baseline, so as much
 * time is kept for it as that took.
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
