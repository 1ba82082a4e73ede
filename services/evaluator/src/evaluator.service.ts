import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BusService, describeError, type RunSnapshot, serveRuns } from '@ui-rl/bus';
import { PluginError } from '@ui-rl/plugin-kit';
import { SettingsError } from '@ui-rl/settings';
import { type EvaluationPlan, planRun } from './plan';
import { RunEvaluator } from './run-evaluator';
import { EvaluatorOptions } from './evaluator.options';

/** Picks runs up and evaluates them, for as long as the service lives. */
@Injectable()
export class EvaluatorService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private serving: Promise<void> = Promise.resolve();

  constructor(
    private readonly bus: BusService,
    private readonly options: EvaluatorOptions,
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
    if (plan.unchecked.length > 0) await this.tellUnchecked(plan);
    const { service, instance } = this.bus;
    const ready = { type: 'service_ready' as const, runId: record.runId, service, instance };
    await this.bus.event(ready, `${service}.${instance}`);
    await new RunEvaluator(this.bus, plan).run(signal);
  }

  private async tellUnchecked({ runId, unchecked }: EvaluationPlan): Promise<void> {
    const names = unchecked.map(({ id }) => id).join(', ');
    const message = `left out of the evaluation, since nothing tells whether they succeed (no checks): ${names}`;
    this.bus.logger.warn(message);
    const { service } = this.bus;
    await this.bus.event(
      { type: 'warning', runId, service, code: 'unchecked_tasks', message },
      'unchecked_tasks',
    );
  }

  /** A run whose options or tasks are wrong has failed: no later attempt would read them otherwise. */
  private async plan(record: RunSnapshot['record']): Promise<EvaluationPlan | null> {
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
