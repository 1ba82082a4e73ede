import { EventEmitter, once } from 'node:events';
import type { BusService } from '@ui-rl/bus';
import { describeError } from '@ui-rl/retry';

/** Holds back the episodes of a run while it is paused. */
export class Pause {
  private readonly changes = new EventEmitter().setMaxListeners(0);
  private paused = false;

  constructor(
    private readonly bus: BusService,
    private readonly runId: string,
  ) {}

  /** Reads whether the run is paused, and follows that until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    this.set((await this.bus.runs.pause(this.runId))?.paused ?? false);
    void this.watch(signal).catch((error: unknown) => {
      if (!signal.aborted) this.bus.logger.error(`pauses of run ${this.runId}: ${describeError(error)}`);
    });
  }

  /** Resolves when the run is not paused. Rejects if the signal aborts first. */
  async over(signal: AbortSignal): Promise<void> {
    while (this.paused) await once(this.changes, 'change', { signal });
  }

  private async watch(signal: AbortSignal): Promise<void> {
    for await (const { paused } of this.bus.runs.watchPause(this.runId, signal)) this.set(paused);
  }

  private set(paused: boolean): void {
    if (paused !== this.paused)
      this.bus.logger.log(`run ${this.runId} ${paused ? 'is paused' : 'continues'}`);
    this.paused = paused;
    this.changes.emit('change');
  }
}
