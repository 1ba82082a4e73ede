import { Injectable } from '@nestjs/common';
import type { Log } from '@ui-rl/plugin-kit';
import { BusService, type RunSnapshot } from '@ui-rl/bus';
import { decideOnUnservedRuns, type RunFileReceiver, RunService, type ServedRun } from '@ui-rl/service';
import { planRun } from './plan';
import { RunLoader } from './run-loader';
import { TaskLoaderOptions } from './task-loader.options';

/**
 * Provides runs with tasks. Because every run has a task-loader, it also performs housekeeping at the broker, and
 * decides about runs that a host cannot serve.
 */
@Injectable()
export class TaskLoaderService extends RunService {
  private readonly receiver: RunFileReceiver;

  constructor(
    bus: BusService,
    private readonly own: TaskLoaderOptions,
  ) {
    const { runId, components, cacheDir } = own;
    super(bus, { runId });
    this.receiver = { bus, components, cacheDir };
  }

  override onApplicationBootstrap(): void {
    super.onApplicationBootstrap();
    decideOnUnservedRuns(this.bus);
    this.bus.keepHouse(this.own.housekeeping);
  }

  protected async prepare({ record }: RunSnapshot): Promise<ServedRun> {
    const log: Log = (level, message) => this.bus.logger[level === 'info' ? 'log' : level](message);
    return new RunLoader(this.bus, await planRun(record, { ...this.receiver, log }));
  }
}
