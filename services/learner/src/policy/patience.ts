import { startTimer } from '@ui-rl/retry';

/** The deadline of an answer, shared by all of its callers: the signal aborts once no caller waits any longer. */
export class Patience {
  private readonly gone = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private endsAt = -Infinity;

  get signal(): AbortSignal {
    return this.gone.signal;
  }

  /** Adds a caller that waits this many milliseconds from now on; default: without a limit. */
  wait(milliseconds = Infinity): void {
    this.endsAt = Math.max(this.endsAt, performance.now() + milliseconds);
    this.watch();
  }

  /** Ends the wait when the answer has arrived. */
  end(): void {
    clearTimeout(this.timer);
  }

  private watch(): void {
    clearTimeout(this.timer);
    if (this.endsAt === Infinity) return;
    const left = this.endsAt - performance.now();
    if (left <= 0) this.gone.abort(new Error('the caller no longer waits for the answer'));
    else this.timer = startTimer(left, () => this.watch()).unref();
  }
}
