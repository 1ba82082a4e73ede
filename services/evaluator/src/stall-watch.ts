import type { BusService } from '@ui-rl/bus';
import type { EvaluationStore } from './evaluation-store';
import { pendingEpisodes } from './state';

export interface StallWatchOptions {
  /** Silence after which it is a stall. */
  stallMs: number;
  /** Whether nothing can begin before the learner serves the run. */
  waitsForLearner: () => boolean;
}

/** Warns where an evaluation waits for episodes, or a run for its learner, and nothing happens. Once per stall. */
export class StallWatch {
  private lastSign = performance.now();
  private warned = false;

  constructor(
    private readonly bus: BusService,
    private readonly runId: string,
    private readonly store: EvaluationStore,
    private readonly options: StallWatchOptions,
  ) {}

  /** Something went on. */
  sign(): void {
    this.lastSign = performance.now();
    this.warned = false;
  }

  /** Looks now and then, until the signal aborts. */
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
  /** Undefined where no evaluation is open. */
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
