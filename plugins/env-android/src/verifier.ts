import { isRecord, verify, type Episode } from '@ui-rl/plugin-kit';

/**
 * Whether everything holds that a task asked the device at the end, and its checks where it has any; null where the task asks nothing.
 */
export function verifyDevice({ task, stateAfter }: Pick<Episode, 'task' | 'stateAfter'>): boolean | null {
  const checked = verify(task.checks, stateAfter);
  const validations: unknown = stateAfter?.validations;
  if (!Array.isArray(validations) || validations.length === 0) return checked;
  const validated = validations.every((each: unknown) => isRecord(each) && each.success === true);
  return validated && checked !== false;
}
