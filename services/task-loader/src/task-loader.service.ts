import { Injectable } from '@nestjs/common';
import { BusService, type RunSnapshot } from '@ui-rl/bus';
import { RunService, type ServedRun } from '@ui-rl/service';
import { planRun } from './plan';
import { RunLoader } from './run-loader';
import { TaskLoaderOptions } from './task-loader.options';

/** Feeds runs with tasks. */
@Injectable()
export class TaskLoaderService extends RunService {
  private readonly plugins: TaskLoaderOptions['plugins'];

  constructor(bus: BusService, { runId, plugins }: TaskLoaderOptions) {
    super(bus, { runId });
    this.plugins = plugins;
  }

  protected async prepare({ record }: RunSnapshot): Promise<ServedRun> {
    return new RunLoader(this.bus, await planRun(record, this.plugins));
  }
}
