import { Inject, Injectable } from '@nestjs/common';
import { BusService, type RunSnapshot } from '@ui-rl/bus';
import { Misconfigured, type RunFileReceiver, RunService, type ServedRun } from '@ui-rl/service';
import type { Log } from '@ui-rl/plugin-kit';
import { ActorOptions } from './actor.options';
import { AgentEndpoint } from './agents/agent-endpoint';
import { AgentRollouts } from './agents/agent-rollouts';
import { Rollouts } from './rollouts';
import { planRun } from './run-plan';

/** Plays the rollouts of runs. */
@Injectable()
export class ActorService extends RunService {
  private readonly receiver: RunFileReceiver;

  constructor(
    bus: BusService,
    { runId, components, cacheDir }: ActorOptions,
    @Inject(AgentEndpoint) private readonly agents: AgentEndpoint,
  ) {
    super(bus, { runId });
    this.receiver = { bus, components, cacheDir };
  }

  protected async prepare({ record }: RunSnapshot): Promise<ServedRun> {
    const plan = await planRun(record, this.receiver, logTo(this.bus));
    if (plan.playedBy === 'actors') return new Rollouts(this.bus, plan);
    const { sessions } = this.agents;
    if (sessions !== null) return new AgentRollouts(this.bus, plan, sessions);
    await plan.close();
    throw new Misconfigured(
      'rollout.played_by is "agents", but this actor has no address for them: set AGENTS_PORT',
    );
  }
}

function logTo({ logger }: BusService): Log {
  return (level, message) => logger[level === 'info' ? 'log' : level](message);
}
