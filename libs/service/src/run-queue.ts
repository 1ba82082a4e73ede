import type { RunSnapshot } from '@ui-rl/bus';

/** Runs that wait for their turn, oldest first. */
export class RunQueue {
  private readonly waiting: RunSnapshot[] = [];
  private wake: () => void = () => undefined;

  get runIds(): string[] {
    return this.waiting.map(({ record }) => record.runId);
  }

  add(run: RunSnapshot): void {
    const later = this.waiting.findIndex(({ record }) => record.createdAt > run.record.createdAt);
    this.waiting.splice(later < 0 ? this.waiting.length : later, 0, run);
    this.wake();
  }

  /** Waits for a run; undefined if the signal aborts first. */
  async next(signal: AbortSignal): Promise<RunSnapshot | undefined> {
    while (this.waiting.length === 0 && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
    return signal.aborted ? undefined : this.waiting.shift();
  }
}
