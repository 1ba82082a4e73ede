import type { EvaluationEvent } from '@ui-rl/contracts';

/** The result of an evaluation, in words. */
export function evaluationInWords({
  successRate,
  episodes,
  invalid,
  unjudged = 0,
  metrics = {},
}: EvaluationEvent): string {
  if (successRate === null && unjudged > 0)
    return `mean reward ${metrics['env/all/reward/total']?.toFixed(3) ?? '–'} of ${unjudged} episodes`;
  if (successRate === null) return `no success rate, all ${invalid} episodes are invalid`;
  return `${percent(successRate)} of ${episodes} episodes`;
}

export const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

export function percentWithInterval(share: number, [low, high]: [number, number]): string {
  return `${percent(share).padStart(5)}  [${(100 * low).toFixed(0)}–${(100 * high).toFixed(0)}]`;
}
