import { startTimer } from '@ui-rl/retry';
import type { Deadline } from './kinds';

/**
 * Calls a plugin with a deadline and a signal that aborts at the deadline. Rejects with the plugin's error, or with a
 * timeout. A plugin that blocks the event loop cannot be interrupted; run it in a thread.
 * @param what name of the plugin for messages: `tracker "mlflow"`
 * @param outer aborts the call earlier
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
