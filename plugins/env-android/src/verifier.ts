import { answerOf, isRecord, verify, type Episode, type Task } from '@ui-rl/plugin-kit';

/** Whether a task has validators or checks that determine its success. */
export function canBeJudged({ checks = [], environment }: Task): boolean {
  const { validators } = environment?.options ?? {};
  return checks.length > 0 || (Array.isArray(validators) && validators.length > 0);
}

/** Whether all validators and checks of the task hold at the end; null if it has none. */
export function verifyDevice({
  task,
  turns,
  stateAfter,
}: Pick<Episode, 'task' | 'turns' | 'stateAfter'>): boolean | null {
  const checked = verify(task.checks, stateAfter, answerOf(turns));
  const validations: unknown = stateAfter?.validations;
  if (!Array.isArray(validations) || validations.length === 0) return checked;
  const validated = validations.every((each: unknown) => isRecord(each) && each.success === true);
  return validated && checked !== false;
}
