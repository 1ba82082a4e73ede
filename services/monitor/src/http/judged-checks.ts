import { CHECK_RESULTS, checkHolds, isPageCheck, valueAt, type Check } from '@ui-rl/plugin-kit';
import type { EpisodeDetail, JudgedCheck } from '@ui-rl/records';

/** The checks of an episode's task, judged by the recorded final state as its actor judged them. */
export function judgedChecks({ request, status, finalState }: EpisodeDetail): JudgedCheck[] {
  return (request.task.checks ?? []).map((check, place) =>
    status === 'invalid' || finalState === null
      ? { check, holds: null, found: null }
      : { check, holds: checkHolds(check, place, finalState), found: foundBy(check, place, finalState) },
  );
}

function foundBy(check: Check, place: number, state: Record<string, unknown>): string | null {
  const results = state[CHECK_RESULTS] as Record<number, { found?: unknown } | undefined> | undefined;
  const said = results?.[place]?.found;
  if (typeof said === 'string') return said;
  if (isPageCheck(check)) return null;
  return JSON.stringify(valueAt(state, check.path)) ?? 'nothing';
}
