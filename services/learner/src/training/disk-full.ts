import { describeError, RETRIES, retry, type RetryPolicy } from '@ui-rl/retry';
import type { RunWarnings } from '../warnings';

/** Retries writes while the disk is full, and reports what the run waits for. Rethrows other failures. */
export function whileDiskIsFull<T>(
  warnings: Pick<RunWarnings, 'send'>,
  dir: string,
  write: () => Promise<T>,
  policy: Pick<RetryPolicy, 'firstMs' | 'maxMs'> = RETRIES.checkpoint,
): Promise<T> {
  return retry(policy, write, {
    isTransient: isDiskFull,
    onFailure: async (error, failures) => {
      if (failures > 1) return;
      const message = `training waits for room on the disk of ${dir}: ${describeError(error)}`;
      await warnings.send('disk_full', message, `learner.disk_full.${dir}`);
    },
  });
}

/** Also detects a failure in another thread, of whose error only the text remains. */
function isDiskFull(error: unknown): boolean {
  return /\b(ENOSPC|EDQUOT)\b/.test(describeError(error));
}
