import { RETRIES, retry } from '@ui-rl/retry';
import type { Broker } from './broker';

/**
 * Looks up an entry that exists unless it was deleted. In a cluster, any replica may answer, including one that lags
 * behind, so a missing entry is looked up again before it counts as missing.
 */
export async function lookUp<T>(broker: Broker, read: () => Promise<T | null>): Promise<T | null> {
  const found = await read();
  if (found !== null || !(await broker.stores()).replicated) return found;
  return retry(RETRIES.copies, read, {
    signal: broker.closing,
    isTransient: () => false,
    isTransientResult: (result) => result === null,
  });
}
