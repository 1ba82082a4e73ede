import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { BusService, failure, type Responder, type RunSnapshot } from '@ui-rl/bus';
import { EnvOpenRequest, type EnvOpenReply, subjects } from '@ui-rl/contracts';
import { receiveRunFile, RunService, type ServedRun } from '@ui-rl/service';
import { EnvOptions } from './env.options';
import { RunEnvironments } from './run-environments';

/** All env services share the `open` requests. */
const QUEUE = 'env';

/** Starts environments for open runs and opens sessions in them, until the service stops. */
@Injectable()
export class EnvService extends RunService implements OnModuleDestroy {
  private readonly offers = new Map<string, Responder>();

  constructor(
    @Inject(BusService) bus: BusService,
    @Inject(EnvOptions) private readonly own: EnvOptions,
    @Inject(RunEnvironments) private readonly environments: RunEnvironments,
  ) {
    super(bus, { runId: own.runId });
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all([...this.offers.values()].map((offer) => offer.stop()));
  }

  protected async prepare({ record }: RunSnapshot): Promise<ServedRun> {
    const { runId } = record;
    const { components, cacheDir } = this.own;
    const run = await receiveRunFile(record, ['environment'], { bus: this.bus, components, cacheDir });
    const kinds = await this.environments.start(runId, run.environment);
    kinds.forEach((kind) => this.offer(kind));
    return {
      work: (signal) => this.bus.runs.untilOver(runId, signal),
      close: () => this.environments.release(runId),
    };
  }

  private offer(kind: string): void {
    if (this.offers.has(kind)) return;
    const responder = this.bus.respond({
      subject: subjects.envOpen(kind),
      queue: QUEUE,
      schema: EnvOpenRequest,
      handle: (request) => this.open(kind, request),
    });
    this.offers.set(kind, responder);
  }

  private async open(
    kind: string,
    { runId, rolloutId, task, seed, leaseMs, deadlineMs }: EnvOpenRequest,
  ): Promise<EnvOpenReply | ReturnType<typeof failure>> {
    const sessions = this.environments.of(runId, kind);
    if (sessions === undefined) {
      return failure(
        'capacity',
        `env service ${this.bus.instance} has no ${kind} environment for run ${runId}`,
      );
    }
    const reply = await sessions.open({ task, seed, owner: rolloutId, leaseMs, deadlineMs });
    if (!reply.ok) return reply;
    this.environments.register(reply.value.sessionId, sessions);
    return { ...reply.value, instance: this.bus.instance };
  }
}
