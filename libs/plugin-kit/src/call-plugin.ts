import { startTimer } from '@ui-rl/retry';
import type { Deadline } from './kinds';

/**
 * Calls a plugin: it gets a deadline and a signal that aborts with it. Rejects with what it throws, and where it does not answer in
 * time, which a plugin that never gives control back cannot be kept from: that one needs a thread.
 * @param what is called, for people: `tracker "mlflow"`
 * @param outer ends the waiting, too
 */
export async function callPlugin<T>(
  what: string,
  ms: number,
  call: (deadline: Deadline) => T | Promise<T>,
  outer?: AbortSignal,
): Promise<T> {
  outer?.throwIfAborted();
  const late = new AbortController();
  const timer = startTimer(ms, () => late.abort(new Error(`${what} took longer than ${ms / 1000} seconds`)));
  const signal = outer === undefined ? late.signal : AbortSignal.any([late.signal, outer]);
  const over = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  const calling = async (): Promise<T> => call({ deadlineAt: Date.now() + ms, signal });
  try {
    return await Promise.race([calling(), over]);
  } finally {
    clearTimeout(timer);
  }
}
