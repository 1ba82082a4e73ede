import { Injectable } from '@nestjs/common';
import { BusService, type RunSnapshot } from '@ui-rl/bus';
import { RunService, type ServedRun } from '@ui-rl/service';
import { ActorOptions } from './actor.options';
import { Rollouts } from './rollouts';
import { planRun } from './run-plan';

/** Plays the rollouts of runs. */
@Injectable()
export class ActorService extends RunService {
  private readonly plugins: ActorOptions['plugins'];

  constructor(bus: BusService, { runId, plugins }: ActorOptions) {
    super(bus, { runId });
    this.plugins = plugins;
  }

  protected async prepare({ record }: RunSnapshot): Promise<ServedRun> {
    return new Rollouts(this.bus, await planRun(record, this.plugins));
  }
}
