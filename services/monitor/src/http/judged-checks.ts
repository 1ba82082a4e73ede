import {
  answerOf,
  CHECK_RESULTS,
  checkHolds,
  isPageCheck,
  valueAt,
  type Action,
  type Check,
} from '@ui-rl/plugin-kit';
import { checkText, type EpisodeDetail, type JudgedCheck } from '@ui-rl/records';

/** The checks of an episode's task, judged by the recorded final state as its actor judged them. */
export function judgedChecks({ request, status, finalState, turns }: EpisodeDetail): JudgedCheck[] {
  const answer = answerOf(turns.map(({ actions }) => ({ actions: actions as unknown as Action[] })));
  return (request.task.checks ?? []).map((check, place) =>
    status === 'invalid' || finalState === null
      ? { check, text: checkText(check), holds: null, found: null }
      : {
          check,
          text: checkText(check),
          holds: checkHolds(check, place, finalState, answer),
          found: check.kind === 'answer' ? (answer ?? 'no answer') : foundBy(check, place, finalState),
        },
  );
}

function foundBy(
  check: Exclude<Check, { kind: 'answer' }>,
  place: number,
  state: Record<string, unknown>,
): string | null {
  const results = state[CHECK_RESULTS] as Record<number, { found?: unknown } | undefined> | undefined;
  const said = results?.[place]?.found;
  if (typeof said === 'string') return said;
  if (isPageCheck(check)) return null;
  return JSON.stringify(valueAt(state, check.path)) ?? 'nothing';
}
