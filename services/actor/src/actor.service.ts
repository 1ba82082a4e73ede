import { Injectable } from '@nestjs/common';
import { BusService, type RunSnapshot } from '@ui-rl/bus';
import { RunService, type ServedRun } from '@ui-rl/service';
import type { Log } from '@ui-rl/plugin-kit';
import { ActorOptions } from './actor.options';
import { Rollouts } from './rollouts';
import { planRun } from './run-plan';

/** Plays the rollouts of runs. */
@Injectable()
export class ActorService extends RunService {
  private readonly components: ActorOptions['components'];

  constructor(bus: BusService, { runId, components }: ActorOptions) {
    super(bus, { runId });
    this.components = components;
  }

  protected async prepare({ record }: RunSnapshot): Promise<ServedRun> {
    return new Rollouts(this.bus, await planRun(record, this.components, logTo(this.bus)));
  }
}

function logTo({ logger }: BusService): Log {
  return (level, message) => logger[level === 'info' ? 'log' : level](message);
}
