import type { BusService } from '@ui-rl/bus';
import type { EvaluationStore } from './evaluation-store';
import { pendingEpisodes } from './state';

/** Warns where an evaluation waits for episodes and none comes in. Once per stall. */
export class StallWatch {
  private lastSign = Date.now();
  private warned = false;

  constructor(
    private readonly bus: BusService,
    private readonly runId: string,
    private readonly store: EvaluationStore,
    private readonly stallMs: number,
  ) {}

  /** Something went on. */
  sign(): void {
    this.lastSign = Date.now();
    this.warned = false;
  }

  /** Looks now and then, until the signal aborts. */
  start(signal: AbortSignal): void {
    const timer = setInterval(() => {
      this.look().catch((error: unknown) => this.bus.logger.error(error));
    }, this.stallMs / 4);
    signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  private async look(): Promise<void> {
    const since = this.lastSign;
    if (this.warned || Date.now() - since < this.stallMs) return;
    const { open } = await this.store.read();
    if (open.length === 0) return this.sign();
    if (since !== this.lastSign) return;
    this.warned = true;
    const waiting = open.map(
      (evaluation) =>
        `${evaluation.evaluationId} waits for ${pendingEpisodes(evaluation).length} of ${evaluation.outcomes.length} episodes`,
    );
    const message =
      `no episode came in for ${Math.round((Date.now() - since) / 1000)} s while ${waiting.join(', ')}: ` +
      'are actors, environments and the learner running?';
    this.bus.logger.warn(message);
    const { service, runId } = { service: this.bus.service, runId: this.runId };
    await this.bus.event({ type: 'warning', runId, service, code: 'stall', message }, `stall.${since}`);
  }
}
