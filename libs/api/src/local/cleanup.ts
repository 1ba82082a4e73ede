/** Registers a clean-up function; the latest runs first. */
export type OnEnd = (cleanup: () => Promise<void>) => void;

/**
 * Runs work that holds processes and files, and cleans up on success, on an error, and on Ctrl-C or SIGTERM, when the
 * signal given to `work` aborts. Resolves to the exit code.
 */
export async function withCleanup(
  work: (signal: AbortSignal, onEnd: OnEnd) => Promise<number>,
): Promise<number> {
  const controller = new AbortController();
  const cleanups: (() => Promise<void>)[] = [];
  const stop = (name: NodeJS.Signals) => () => controller.abort(name);
  const handlers = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((name) => [name, stop(name)] as const);
  for (const [name, handler] of handlers) process.on(name, handler);
  try {
    return await work(controller.signal, (cleanup) => cleanups.unshift(cleanup));
  } catch (error) {
    if (controller.signal.aborted) return controller.signal.reason === 'SIGINT' ? 130 : 143;
    throw error;
  } finally {
    for (const cleanup of cleanups) await cleanup();
    for (const [name, handler] of handlers) process.off(name, handler);
  }
}

/** Rejects when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = () => reject(new Error(`stopped by ${String(signal.reason)}`));
    if (signal.aborted) fail();
    else signal.addEventListener('abort', fail, { once: true });
  });
}
