import { Injectable } from '@nestjs/common';
import { BusService, type RunSnapshot } from '@ui-rl/bus';
import { RunService, type ServedRun } from '@ui-rl/service';
import { planRun } from './plan';
import { RunLoader } from './run-loader';
import { TaskLoaderOptions } from './task-loader.options';

/** Feeds runs with tasks. */
@Injectable()
export class TaskLoaderService extends RunService {
  private readonly components: TaskLoaderOptions['components'];

  constructor(bus: BusService, { runId, components }: TaskLoaderOptions) {
    super(bus, { runId });
    this.components = components;
  }

  protected async prepare({ record }: RunSnapshot): Promise<ServedRun> {
    return new RunLoader(this.bus, await planRun(record, this.components));
  }
}
