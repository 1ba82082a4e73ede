import { BrowserError } from './errors';

/**
 * Whether and why a tab is unusable. A tab outlives many episodes, so listeners are removed when they stop waiting.
 */
export class TabFailure {
  private error: BrowserError | null = null;
  private readonly waiting = new Set<(error: BrowserError) => void>();

  get happened(): boolean {
    return this.error !== null;
  }

  /** Only the first failure is kept. */
  happens(error: BrowserError): void {
    if (this.happened) return;
    this.error = error;
    for (const tell of this.waiting) tell(error);
    this.waiting.clear();
  }

  /** Calls back on failure, immediately if it has already failed. */
  whenHappened(tell: (error: BrowserError) => void): void {
    if (this.error === null) this.waiting.add(tell);
    else tell(this.error);
  }

  /** The failure, if it has happened or happens within the given time; otherwise null. */
  async within(milliseconds: number): Promise<BrowserError | null> {
    let tell: (error: BrowserError | null) => void = () => undefined;
    const happened = new Promise<BrowserError | null>((resolve) => (tell = resolve));
    const timer = setTimeout(() => tell(null), milliseconds);
    this.whenHappened(tell);
    try {
      return await happened;
    } finally {
      clearTimeout(timer);
      this.waiting.delete(tell);
    }
  }

  /** Waits until the work finishes, the tab fails, or the signal aborts. Throws `BrowserError` for the last two. */
  async orDone<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    let end: (error: BrowserError) => void = () => undefined;
    const ended = new Promise<never>((_resolve, reject) => (end = reject));
    ended.catch(() => undefined);
    const stop = (): void => end(new BrowserError('deadline', 'the page did not answer in time'));
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    this.whenHappened(end);
    try {
      return await Promise.race([work(), ended]);
    } finally {
      signal.removeEventListener('abort', stop);
      this.waiting.delete(end);
    }
  }
}

/** Maps Chromium's termination status of a page's process to an error. */
export function crashOf(status: string): BrowserError {
  return status === 'crashed' || status === 'oom'
    ? new BrowserError('crashed', 'the page crashed, by its own fault or out of memory', {
        end: 'page_crashed',
      })
    : new BrowserError('crashed', `the process of the page was ended from outside: ${status}`);
}
