import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BusService, describeError, type RunSnapshot, serveRuns } from '@ui-rl/bus';
import { PluginError } from '@ui-rl/plugin-kit';
import { SettingsError } from '@ui-rl/settings';
import { type LoaderPlan, planRun } from './plan';
import { RunLoader } from './run-loader';
import { TaskLoaderOptions } from './task-loader.options';

/** Picks runs up and feeds them, for as long as the service lives. */
@Injectable()
export class TaskLoaderService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private serving: Promise<void> = Promise.resolve();

  constructor(
    private readonly bus: BusService,
    private readonly options: TaskLoaderOptions,
  ) {}

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
    await new RunLoader(this.bus, plan).run(signal);
  }

  /** A run whose options or tasks are wrong has failed: no later attempt would read them otherwise. */
  private async plan(record: RunSnapshot['record']): Promise<LoaderPlan | null> {
    try {
      return await planRun(record, this.options.plugins);
    } catch (error) {
      if (!(error instanceof PluginError || error instanceof SettingsError)) throw error;
      const reason = describeError(error);
      this.bus.logger.error(`run ${record.runId} has failed: ${reason}`);
      await this.bus.runs.changePhase(record.runId, 'failed', { reason });
      return null;
    }
  }
}
