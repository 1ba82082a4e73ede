import type { BusService } from '@ui-rl/bus';
import type { EvaluationBook } from './evaluation-book';
import { pendingPlaces } from './state';

/** Tells where an evaluation waits for episodes and none comes in. Once per silence. */
export class StallWatch {
  private lastSign = Date.now();
  private told = false;

  constructor(
    private readonly bus: BusService,
    private readonly runId: string,
    private readonly book: EvaluationBook,
    private readonly stallMs: number,
  ) {}

  /** Something went on. */
  sign(): void {
    this.lastSign = Date.now();
    this.told = false;
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
    if (this.told || Date.now() - since < this.stallMs) return;
    const { open } = await this.book.read();
    if (open.length === 0) return this.sign();
    if (since !== this.lastSign) return;
    this.told = true;
    const waiting = open.map(
      (evaluation) =>
        `${evaluation.evaluationId} waits for ${pendingPlaces(evaluation).length} of ${evaluation.outcomes.length} episodes`,
    );
    const message =
      `no episode came in for ${Math.round((Date.now() - since) / 1000)} s while ${waiting.join(', ')}: ` +
      'are actors, environments and the learner running?';
    this.bus.logger.warn(message);
    const { service, runId } = { service: this.bus.service, runId: this.runId };
    await this.bus.event({ type: 'warning', runId, service, code: 'stall', message }, `stall.${since}`);
  }
}
