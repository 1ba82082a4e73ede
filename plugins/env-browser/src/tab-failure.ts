import { BrowserError } from './errors';

/** That a tab is of no more use, and why. A tab outlives many episodes: who no longer waits is forgotten. */
export class TabFailure {
  private error: BrowserError | null = null;
  private readonly waiting = new Set<(error: BrowserError) => void>();

  get happened(): boolean {
    return this.error !== null;
  }

  /** The first one counts. */
  happens(error: BrowserError): void {
    if (this.happened) return;
    this.error = error;
    for (const tell of this.waiting) tell(error);
    this.waiting.clear();
  }

  /** Calls back when it happens, at once where it has. */
  whenHappened(tell: (error: BrowserError) => void): void {
    if (this.error === null) this.waiting.add(tell);
    else tell(this.error);
  }

  /** It, where it has happened or does so within a time; else null. */
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

  /** Waits for work until it is done, the tab fails, or the signal aborts. Throws `BrowserError` for the last two. */
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

/** How the process of a page has ended, as Chromium says it. */
export function crashOf(status: string): BrowserError {
  return status === 'crashed' || status === 'oom'
    ? new BrowserError('crashed', 'the page crashed, by its own fault or out of memory', {
        end: 'page_crashed',
      })
    : new BrowserError('crashed', `the process of the page was ended from outside: ${status}`);
}
