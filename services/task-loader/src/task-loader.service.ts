import { Injectable } from '@nestjs/common';
import { BusService, type RunSnapshot } from '@ui-rl/bus';
import { type RunFileReceiver, RunService, type ServedRun } from '@ui-rl/service';
import { planRun } from './plan';
import { RunLoader } from './run-loader';
import { TaskLoaderOptions } from './task-loader.options';

/** Feeds runs with tasks. */
@Injectable()
export class TaskLoaderService extends RunService {
  private readonly receiver: RunFileReceiver;

  constructor(bus: BusService, { runId, components, cacheDir }: TaskLoaderOptions) {
    super(bus, { runId });
    this.receiver = { bus, components, cacheDir };
  }

  protected async prepare({ record }: RunSnapshot): Promise<ServedRun> {
    return new RunLoader(this.bus, await planRun(record, this.receiver));
  }
}
