import { Injectable } from '@nestjs/common';
import { BusService, type RunSnapshot } from '@ui-rl/bus';
import { type RunFileReceiver, RunService, type ServedRun } from '@ui-rl/service';
import type { Log } from '@ui-rl/plugin-kit';
import { ActorOptions } from './actor.options';
import { Rollouts } from './rollouts';
import { planRun } from './run-plan';

/** Plays the rollouts of runs. */
@Injectable()
export class ActorService extends RunService {
  private readonly receiver: RunFileReceiver;

  constructor(bus: BusService, { runId, components, cacheDir }: ActorOptions) {
    super(bus, { runId });
    this.receiver = { bus, components, cacheDir };
  }

  protected async prepare({ record }: RunSnapshot): Promise<ServedRun> {
    return new Rollouts(this.bus, await planRun(record, this.receiver, logTo(this.bus)));
  }
}

function logTo({ logger }: BusService): Log {
  return (level, message) => logger[level === 'info' ? 'log' : level](message);
}
