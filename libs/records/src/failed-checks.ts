import { answerOf, checkHolds, type Action, type Check } from '@ui-rl/plugin-kit';
import type { Trajectory, Turn } from '@ui-rl/contracts';

const MAX_LENGTH = 300;

/** A check in words of at most 300 characters. */
export function checkText(check: Check): string {
  const text =
    check.kind === undefined || check.kind === 'state'
      ? `${check.path} ${check.operator.replaceAll('_', ' ')} ${JSON.stringify(check.value ?? true)}`
      : otherText(check);
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH - 1)}…`;
}

function otherText({ kind, ...fields }: Check): string {
  return `${kind} ${JSON.stringify(fields)}`;
}

/** The parts of an episode that decide about its checks. */
export interface Judged {
  request: { task: { checks?: Check[] } };
  status: Trajectory['status'];
  finalState?: Trajectory['finalState'];
  turns: readonly Pick<Turn, 'actions'>[];
}

/** The checks that an episode failed, in words; null if it has no results of checks. */
export function failedChecks({ request, status, finalState, turns }: Judged): string[] | null {
  const { checks = [] } = request.task;
  if (checks.length === 0 || status === 'invalid' || finalState == null) return null;
  const answer = answerOf(turns.map(({ actions }) => ({ actions: actions as unknown as Action[] })));
  const failed = checks.filter((check, place) => fails(check, place, finalState, answer));
  return [...new Set(failed.map(checkText))];
}

/** A regular expression that does not end says nothing about the policy. */
function fails(check: Check, place: number, state: unknown, answer: string | undefined): boolean {
  try {
    return checkHolds(check, place, state, answer) === false;
  } catch {
    return false;
  }
}
