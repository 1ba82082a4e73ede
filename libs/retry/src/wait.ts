/** The longest time of a timer, in milliseconds: 24.8 days. Node would end a longer one at once. */
export const MAX_WAIT_MS = 2 ** 31 - 1;

/** Calls back after so many milliseconds, or after `MAX_WAIT_MS` where that is less. */
export function startTimer(ms: number, done: () => void): NodeJS.Timeout {
  return setTimeout(done, Math.min(ms, MAX_WAIT_MS));
}

/** Waits so long, or until the signal aborts. */
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

/** Waits for the promise, at most so long; leaves no timer behind. */
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
