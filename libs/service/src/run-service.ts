import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { describeError, FINAL_PHASES, type BusService, type RunSnapshot } from '@ui-rl/bus';
import { PluginError } from '@ui-rl/plugin-kit';
import { DEADLINES, RETRIES, retry, waitAtMost } from '@ui-rl/retry';
import { SettingsError } from '@ui-rl/settings';

export interface RunServiceOptions {
  /** Serves this run only; without it every run that has not ended. */
  runId?: string;
  /**
   * Serves one run after the other, since they need the same device: a run that comes meanwhile waits for the end of the one being
   * served, which is served on until the next begins. Default: all at once.
   */
  oneAtATime?: boolean;
}

/** A run that a service is ready to work for. */
export interface ServedRun {
  /** Ends when the run needs nothing more from this service, or the signal aborts. */
  work(signal: AbortSignal): Promise<void>;
  /** Ends what was opened for the run. */
  close?(): Promise<void>;
}

/** One run while it is served. */
interface Serving {
  runId: string;
  /** Ends the work for this run, whether it is over or not. */
  end: AbortController;
  ended: Promise<void>;
}

/**
 * Picks runs up and serves each of them, for as long as the service lives:
 *
 *     a run that has not ended ─▶ prepare ─▶ service_ready ─▶ work ─▶ close
 *                                    │                                │
 *                                    └── fault of the run: it failed  └── any other failure: closed, and begun again
 */
export abstract class RunService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private readonly served = new Set<Serving>();
  private readonly closings = new Set<Promise<void>>();
  private following: Promise<void> = Promise.resolve();

  constructor(
    protected readonly bus: BusService,
    private readonly options: RunServiceOptions,
  ) {}

  /** Reads what a run asks of this service, and opens what it needs; the signal ends what is waited for in that. */
  protected abstract prepare(run: RunSnapshot, signal: AbortSignal): Promise<ServedRun>;

  /** Whether what `prepare` threw lies in the run itself: then it has failed, since no later attempt would go better. */
  protected isFaultOfRun(error: unknown): boolean {
    return error instanceof PluginError || error instanceof SettingsError;
  }

  onApplicationBootstrap(): void {
    this.following = this.follow();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    const ended = [...this.served].map((serving) => serving.ended);
    // What is under way may wait for a broker that is away; closing the bus ends that.
    await waitAtMost(DEADLINES.stopRun.ms, Promise.all([this.following, ...ended]));
    await Promise.all(this.closings);
  }

  private async follow(): Promise<void> {
    const { bus, stopping } = this;
    const { runId, oneAtATime = false } = this.options;
    bus.logger.log(runId === undefined ? 'waiting for a run' : `waiting for run ${runId}`);
    for await (const run of bus.runs.watchOpen(runId, stopping.signal)) {
      if (oneAtATime && !(await this.comesUp(run))) continue;
      if (stopping.signal.aborted) return;
      this.begin(run);
    }
  }

  /** Waits for the run served before, and ends serving it. Whether the new one is still to be served then. */
  private async comesUp({ record, state }: RunSnapshot): Promise<boolean> {
    const { bus, stopping } = this;
    const [before] = this.served;
    if (before === undefined) return true;
    const { phase = state.phase } = (await bus.runs.state(before.runId)) ?? {};
    if (!FINAL_PHASES.includes(phase)) await this.warnWaiting(record.runId, before.runId);
    await bus.runs.untilOver(before.runId, stopping.signal);
    const now = await bus.runs.state(record.runId);
    if (now === null || FINAL_PHASES.includes(now.phase)) return false;
    before.end.abort();
    await before.ended;
    return true;
  }

  private async warnWaiting(runId: string, before: string): Promise<void> {
    const { service } = this.bus;
    const message = `the ${service} serves one run at a time: this one waits for the end of run ${before}`;
    this.bus.logger.warn(`run ${runId}: ${message}`);
    await this.bus.event(
      { type: 'warning', runId, service, code: 'waiting', message },
      `${service}.waiting.${before}`,
    );
  }

  private begin(run: RunSnapshot): void {
    const { runId } = run.record;
    this.bus.logger.log(`picked up run ${runId}, phase ${run.state.phase}`);
    const end = new AbortController();
    const signal = AbortSignal.any([this.stopping.signal, end.signal]);
    const serving: Serving = { runId, end, ended: this.serveUntilDone(run, signal) };
    this.served.add(serving);
    void serving.ended.finally(() => this.served.delete(serving));
  }

  private async serveUntilDone(run: RunSnapshot, signal: AbortSignal): Promise<void> {
    await retry(RETRIES.serveRun, () => this.serve(run, signal), {
      signal,
      isTransient: () => !this.bus.closing.aborted,
      onFailure: (error, failures) => this.warnFailure(run.record.runId, error, failures),
    }).catch((error: unknown) => {
      // Ended by the signal: whatever it was doing then has failed.
      this.bus.logger.debug(`serving run ${run.record.runId} ended: ${describeError(error)}`);
    });
  }

  private warnFailure(runId: string, error: unknown, failures: number): void {
    const { service, instance, logger } = this.bus;
    const message = `serving run ${runId} failed, trying again: ${describeError(error)}`;
    logger.error(message, error instanceof Error ? error.stack : undefined);
    if (failures > 1) return;
    const warning = { type: 'warning' as const, runId, service, code: 'failure', message };
    void this.bus.event(warning, `${service}.failure.${instance}`).catch(() => undefined);
  }

  private async serve(run: RunSnapshot, signal: AbortSignal): Promise<void> {
    const ready = await this.ready(run, signal);
    if (ready === null) return;
    try {
      const { service, instance } = this.bus;
      const { runId } = run.record;
      await this.bus.event({ type: 'service_ready', runId, service, instance }, `${service}.${instance}`);
      await ready.work(signal);
    } finally {
      await this.close(ready);
    }
  }

  private async close(run: ServedRun): Promise<void> {
    const closing = run.close?.() ?? Promise.resolve();
    this.closings.add(closing);
    await closing.finally(() => this.closings.delete(closing));
  }

  private async ready(run: RunSnapshot, signal: AbortSignal): Promise<ServedRun | null> {
    try {
      return await this.prepare(run, signal);
    } catch (error) {
      if (!this.isFaultOfRun(error)) throw error;
      const reason = describeError(error);
      this.bus.logger.error(`run ${run.record.runId} has failed: ${reason}`);
      await this.bus.runs.changePhase(run.record.runId, 'failed', { reason });
      return null;
    }
  }
}
