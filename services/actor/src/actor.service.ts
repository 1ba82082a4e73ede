import { Injectable } from '@nestjs/common';
import { BusService, type RunSnapshot, RunService } from '@ui-rl/bus';
import { PluginError } from '@ui-rl/plugin-kit';
import { SettingsError } from '@ui-rl/settings';
import { ActorOptions } from './actor.options';
import { Rollouts } from './rollouts';
import { planRun, type RunPlan } from './run-plan';

/** Plays the rollouts of runs. */
@Injectable()
export class ActorService extends RunService<RunPlan> {
  private readonly plugins: ActorOptions['plugins'];

  constructor(bus: BusService, { runId, plugins }: ActorOptions) {
    super(bus, { runId, faultsOfRun: [PluginError, SettingsError] });
    this.plugins = plugins;
  }

  protected planRun(record: RunSnapshot['record']): Promise<RunPlan> {
    return planRun(record, this.plugins);
  }

  protected work(plan: RunPlan, signal: AbortSignal): Promise<void> {
    return new Rollouts(this.bus, plan).run(signal);
  }
}
