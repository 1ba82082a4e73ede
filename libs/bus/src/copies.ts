import { RETRIES, retry } from '@ui-rl/retry';
import type { Broker } from './broker';

/**
 * Looks something up that is there, unless it was deleted. Where several servers of a cluster keep it, any of them answers, also one that has
 * not heard of the latest yet: then it is asked for again before it counts as missing.
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
