import { startTimer } from '@ui-rl/retry';

/** How long an answer is waited for, by all that ask for it: its signal aborts once nobody does any more. */
export class Patience {
  private readonly gone = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private endsAt = -Infinity;

  get signal(): AbortSignal {
    return this.gone.signal;
  }

  /** Somebody waits for so many milliseconds from now on; for ever unless given. */
  wait(milliseconds = Infinity): void {
    this.endsAt = Math.max(this.endsAt, performance.now() + milliseconds);
    this.watch();
  }

  /** The answer is there. */
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
