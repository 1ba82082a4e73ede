import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { BusService, failure, FINAL_PHASES, type Responder, type RunSnapshot, serveRuns } from '@ui-rl/bus';
import { EnvOpenRequest, type EnvOpenReply, subjects } from '@ui-rl/contracts';
import { PluginError } from '@ui-rl/plugin-kit';
import { SettingsError } from '@ui-rl/settings';
import { EnvOptions } from './env.options';
import { RunEnvironments } from './run-environments';

/** All env services share the requests to open. */
const QUEUE = 'env';

/** Starts environments for the runs there are and opens sessions in them, until the service ends. */
@Injectable()
export class EnvService implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly stopping = new AbortController();
  private readonly offers = new Map<string, Responder>();
  private serving: Promise<void> = Promise.resolve();

  constructor(
    @Inject(BusService) private readonly bus: BusService,
    @Inject(EnvOptions) private readonly options: EnvOptions,
    @Inject(RunEnvironments) private readonly environments: RunEnvironments,
  ) {}

  onApplicationBootstrap(): void {
    const { signal } = this.stopping;
    const serve = (run: RunSnapshot) => this.serve(run, signal);
    this.serving = serveRuns(this.bus, { runId: this.options.runId, signal, serve });
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all([...this.offers.values()].map((offer) => offer.stop()));
    this.stopping.abort();
    await this.serving;
  }

  private async serve({ record }: RunSnapshot, signal: AbortSignal): Promise<void> {
    const { runId } = record;
    const kinds = await this.start(record);
    if (kinds === null) return;
    try {
      kinds.forEach((kind) => this.offer(kind));
      const { service, instance } = this.bus;
      await this.bus.event({ type: 'service_ready', runId, service, instance }, `${service}.${instance}`);
      await this.untilEnded(runId, signal);
    } finally {
      await this.environments.release(runId);
    }
  }

  /** A run that names a plugin or option that does not exist has failed: no later attempt would go better. */
  private async start(record: RunSnapshot['record']): Promise<string[] | null> {
    try {
      return await this.environments.start(record);
    } catch (error) {
      if (!(error instanceof PluginError || error instanceof SettingsError)) throw error;
      this.bus.logger.error(`run ${record.runId} has failed: ${error.message}`);
      await this.bus.runs.changePhase(record.runId, 'failed', { reason: error.message });
      return null;
    }
  }

  private async untilEnded(runId: string, signal: AbortSignal): Promise<void> {
    for await (const { phase } of this.bus.runs.watchState(runId, signal)) {
      if (FINAL_PHASES.includes(phase)) return;
    }
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
