import { Injectable } from '@nestjs/common';
import { BusService, type RunSnapshot, RunService } from '@ui-rl/bus';
import { PluginError } from '@ui-rl/plugin-kit';
import { SettingsError } from '@ui-rl/settings';
import { type LoaderPlan, planRun } from './plan';
import { RunLoader } from './run-loader';
import { TaskLoaderOptions } from './task-loader.options';

/** Feeds runs with tasks. */
@Injectable()
export class TaskLoaderService extends RunService<LoaderPlan> {
  private readonly plugins: TaskLoaderOptions['plugins'];

  constructor(bus: BusService, { runId, plugins }: TaskLoaderOptions) {
    super(bus, { runId, faultsOfRun: [PluginError, SettingsError] });
    this.plugins = plugins;
  }

  protected planRun(record: RunSnapshot['record']): Promise<LoaderPlan> {
    return planRun(record, this.plugins);
  }

  protected work(plan: LoaderPlan, signal: AbortSignal): Promise<void> {
    return new RunLoader(this.bus, plan).run(signal);
  }
}
