import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import type { BusService } from './bus';
import { describeError } from './errors';
import type { RunSnapshot } from './runs';
import { serveRuns } from './serve-runs';

type RunRecord = RunSnapshot['record'];

export interface RunServiceOptions {
  /** Only this run. */
  runId?: string;
  /** Errors of `planRun` that lie in the run itself: it has failed, since no later attempt would read it otherwise. */
  faultsOfRun: readonly (new (...args: never[]) => Error)[];
}

/** Picks runs up and works for each of them, for as long as the service lives. */
export abstract class RunService<Plan> implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private serving: Promise<void> = Promise.resolve();

  constructor(
    protected readonly bus: BusService,
    private readonly options: RunServiceOptions,
  ) {}

  /** Reads what a run asks of this service. */
  protected abstract planRun(record: RunRecord): Promise<Plan>;

  /** Ends when the run needs nothing more from this service, or the signal aborts. Before that `service_ready` is published. */
  protected abstract work(plan: Plan, signal: AbortSignal): Promise<void>;

  onApplicationBootstrap(): void {
    const { signal } = this.stopping;
    const { runId } = this.options;
    this.serving = serveRuns(this.bus, { runId, signal, serve: (run) => this.serve(run, signal) });
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.serving;
  }

  private async serve({ record }: RunSnapshot, signal: AbortSignal): Promise<void> {
    const plan = await this.plan(record);
    if (plan === null) return;
    const { service, instance } = this.bus;
    const ready = { type: 'service_ready' as const, runId: record.runId, service, instance };
    await this.bus.event(ready, `${service}.${instance}`);
    await this.work(plan, signal);
  }

  private async plan(record: RunRecord): Promise<Plan | null> {
    try {
      return await this.planRun(record);
    } catch (error) {
      if (!this.options.faultsOfRun.some((kind) => error instanceof kind)) throw error;
      const reason = describeError(error);
      this.bus.logger.error(`run ${record.runId} has failed: ${reason}`);
      await this.bus.runs.changePhase(record.runId, 'failed', { reason });
      return null;
    }
  }
}
