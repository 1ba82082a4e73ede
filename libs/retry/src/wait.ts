/** Maximum timer duration in milliseconds: 24.8 days. Node would fire a longer one immediately. */
export const MAX_WAIT_MS = 2 ** 31 - 1;

/** Calls back after this many milliseconds, at most `MAX_WAIT_MS`. */
export function startTimer(ms: number, done: () => void): NodeJS.Timeout {
  return setTimeout(done, Math.min(ms, MAX_WAIT_MS));
}

/** Waits this long, or until the signal aborts. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = startTimer(ms, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}

/** Waits for the promise, at most this long; leaves no timer behind. */
export async function waitAtMost(ms: number, promise: Promise<unknown>): Promise<void> {
  const done = new AbortController();
  await Promise.race([promise, sleep(ms, done.signal)]);
  done.abort();
}

/** Resolves when the signal aborts. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
