import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { Logger } from '@nestjs/common';
import { BusService, type Consumption } from '@ui-rl/bus';
import { ANY, BUCKETS, type PolicyState, RolloutRequest, STREAMS, subjects } from '@ui-rl/contracts';
import { openApplication } from '@ui-rl/service';
import { loadComponents } from '@ui-rl/plugin-kit';
import { drained, eventually, type NatsServer, startNats } from '@ui-rl/testkit';
import { TaskLoaderModule } from '../src/task-loader.module';

Logger.overrideLogger(false);

export const GROUP_SIZE = 3;
export const config = {
  model: { name: 'any' },
  tasks: [{ source_type: 'demo_training', category: 'settings', limit: 4 }],
  eval_tasks: [{ source_type: 'demo_eval', limit: 2 }],
  rollout: { group_size: GROUP_SIZE },
  training: { seed: 5, max_steps: 10 },
};

export function groupsOf(rollouts: readonly RolloutRequest[]): RolloutRequest[][] {
  return [...new Set(rollouts.map(({ groupId }) => groupId))].map((id) =>
    rollouts.filter(({ groupId }) => groupId === id),
  );
}

export function training(rollouts: readonly RolloutRequest[]): RolloutRequest[] {
  return rollouts.filter(({ purpose }) => purpose === 'train');
}

/** A broker with runs and task-loaders, and simulated learner and actors. */
export class LoaderWorld {
  private runs = 0;
  /** Cleanup functions of a test, run in reverse order. */
  readonly ends: (() => Promise<unknown>)[] = [];
  readonly folder = mkdtempSync(join(tmpdir(), 'uirl-loader-'));

  private constructor(
    readonly nats: NatsServer,
    readonly bus: BusService,
  ) {}

  static async open(options?: Parameters<typeof startNats>[0]): Promise<LoaderWorld> {
    const nats = await startNats(options);
    return new LoaderWorld(nats, await BusService.connect({ service: 'test', servers: [nats.url] }));
  }

  async endTest(): Promise<void> {
    for (const end of this.ends.splice(0).toReversed()) await end();
  }

  async close(): Promise<void> {
    await this.bus.close();
    await this.nats.stop();
    rmSync(this.folder, { recursive: true });
  }

  async startLoader(runId: string): Promise<void> {
    const own = await BusService.connect({ service: 'task-loader', servers: [this.nats.url] });
    const app = await openApplication(
      own,
      TaskLoaderModule.forRoot({
        runId,
        components: await loadComponents(),
        cacheDir: join(this.folder, 'cache'),
        housekeeping: { everyMs: 100 },
      }),
    );
    this.ends.push(async () => {
      await app.close();
      await own.close();
    });
  }

  async createRun(phase: 'baseline' | 'training' = 'training', changes: object = {}): Promise<string> {
    const runId = `run-${(this.runs += 1)}`;
    const record = { runId, createdAt: new Date().toISOString(), config: { ...config, ...changes } };
    await this.bus.runs.create(record, phase);
    this.ends.push(() => this.bus.runs.changePhase(runId, 'stopped'));
    return runId;
  }

  async request(runId: string, groupsRequested: number, takenOut: string[] = [], version = 0): Promise<void> {
    const policy: PolicyState = {
      epoch: 0,
      version,
      adapterDigest: 'base',
      checkpoint: 'latest',
      groupsRequested,
      takenOut,
    };
    await this.bus.runs.putPolicy(runId, policy);
  }

  /** Collects all rollouts that are released for a run, in order; one that is stored twice appears twice. */
  async collect(runId: string): Promise<RolloutRequest[]> {
    const seen: RolloutRequest[] = [];
    const consumption: Consumption = await this.bus.consume<RolloutRequest>({
      stream: STREAMS.rollouts,
      durable: `actors-${runId}`,
      subject: subjects.rollout(runId, ANY),
      schema: RolloutRequest,
      handle: async (rollout) => {
        seen.push(rollout);
      },
    });
    this.ends.push(() => consumption.stop());
    return seen;
  }

  /** As if it had never been written. */
  async forgetKey(key: string): Promise<void> {
    const jsm = await jetstreamManager(this.bus.connection);
    await jsm.streams.purge(`KV_${BUCKETS.runs}`, { filter: `$KV.${BUCKETS.runs}.${key}` });
  }

  /** As after a purge of the event stream. */
  async forgetSteps(runId: string): Promise<void> {
    const jsm = await jetstreamManager(this.bus.connection);
    await jsm.streams.purge(STREAMS.events, { filter: subjects.event(runId, 'train_step') });
  }

  /** Waits until every released rollout has been received. */
  allSeen(runId: string): Promise<void> {
    return drained(this.bus, STREAMS.rollouts, `actors-${runId}`);
  }

  /** Makes the service handle two tasks in sequence, which proves that it has handled all earlier messages. */
  async turns(runId: string, seen: RolloutRequest[]): Promise<void> {
    for (let turn = 0; turn < 2; turn += 1) {
      const before = seen.length - training(seen).length;
      await this.bus.runs.publishTask(runId, { description: 'Open Music' }, `${runId}-turn-${before}`);
      await eventually('a turn', () => seen.length - training(seen).length > before);
    }
  }
}
