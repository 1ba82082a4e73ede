import type { BusService } from '@ui-rl/bus';
import type { EvaluationStore } from './evaluation-store';
import { pendingEpisodes } from './state';

export interface StallWatchOptions {
  /** Time without progress that counts as a stall, in ms. */
  stallMs: number;
  /** Whether the start depends on a learner that does not serve the run yet. */
  waitsForLearner: () => boolean;
}

/** Warns if an evaluation waits for episodes, or a run for its learner, without progress. Once per stall. */
export class StallWatch {
  private lastSign = performance.now();
  private warned = false;

  constructor(
    private readonly bus: BusService,
    private readonly runId: string,
    private readonly store: EvaluationStore,
    private readonly options: StallWatchOptions,
  ) {}

  /** Records progress. */
  sign(): void {
    this.lastSign = performance.now();
    this.warned = false;
  }

  /** Checks periodically, until the signal aborts. */
  start(signal: AbortSignal): void {
    const timer = setInterval(() => {
      this.look().catch((error: unknown) => this.bus.logger.error(error));
    }, this.options.stallMs / 4);
    signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  private async look(): Promise<void> {
    const since = this.lastSign;
    const { stallMs, waitsForLearner } = this.options;
    if (this.warned || performance.now() - since < stallMs) return;
    const seconds = Math.round((performance.now() - since) / 1000);
    const message = waitsForLearner()
      ? `the run has been waiting for its learner for ${seconds} s: is one running, and is it free?`
      : await this.waitsForEpisodes(seconds);
    if (message === undefined) return this.sign();
    if (since !== this.lastSign) return;
    this.warned = true;
    this.bus.logger.warn(message);
    const { service, runId } = { service: this.bus.service, runId: this.runId };
    await this.bus.event(
      { type: 'warning', runId, service, code: 'stall', message },
      `stall.${this.bus.instance}.${since}`,
    );
  }
  /** Undefined if there is no open evaluation. */
  private async waitsForEpisodes(seconds: number): Promise<string | undefined> {
    const { open } = await this.store.read();
    if (open.length === 0) return undefined;
    const waiting = open.map(
      (evaluation) =>
        `${evaluation.evaluationId} waits for ${pendingEpisodes(evaluation).length} of ${evaluation.outcomes.length} episodes`,
    );
    return (
      `no episode came in for ${seconds} s while ${waiting.join(', ')}: ` +
      'are actors, environments and the learner running?'
    );
  }
}
