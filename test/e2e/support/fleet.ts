import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { jetstreamManager } from '@nats-io/jetstream';
import { Logger } from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import { type RunPhase, STREAMS } from '@ui-rl/contracts';
import { type Database, openDatabase, type RunDetail } from '@ui-rl/records';
import { type NatsSettings, readServiceSettings } from '@ui-rl/settings';
import {
  eventually,
  findChromium,
  freePort,
  type Launched,
  FaultyProxy,
  NatsCluster,
  type NatsOptions,
  type NatsServer,
  type PostgresServer,
  startNats,
  startPostgres,
  startService,
} from '@ui-rl/testkit';
import { RunLog } from './run-log';
import { writeSmallModel } from './small-model';

export const SERVICES = ['monitor', 'learner', 'env', 'actor', 'task-loader', 'evaluator'] as const;
/** Samplers run only if a test requests them: learners sample by themselves. */
export type ServiceName = (typeof SERVICES)[number] | 'sampler';
/** A process of the fleet: a service, or a further copy of it. */
export type Member = ServiceName | `${ServiceName}-${number}`;

/** Polling intervals in ms: in this process; of the broker and of services, which have other work. */
const LOOKS_MS = { here: 20, away: 200 };

/** Pause before a service that ended is restarted, as by a supervisor. */
const RESTART_MS = 200;

/** Rewards by the way an episode ended, so that a group's episodes differ regardless of success. */
const REWARD = `module.exports.default = {
  kind: 'reward',
  name: 'footprint',
  create: () => ({
    score({ turns, stateAfter }) {
      let hash = 0;
      for (const char of JSON.stringify(stateAfter)) hash = (hash * 31 + char.charCodeAt(0)) % 9973;
      return 1 / turns.length + hash / 9973;
    },
  }),
};
`;

export interface FleetOptions {
  /** `postgres` is a real server. Default PGlite, inside the monitor. */
  database?: 'postgres' | 'pglite';
  /** Files of additional components that every service loads. */
  plugins?: readonly string[];
  /** Number of instances of each service, or of some. Further copies have separate folders, as on other machines. */
  copies?: number | Partial<Record<ServiceName, number>>;
  /**
   * Services that connect to the broker through a proxy (`proxyOf`), without `accounts`; their further copies connect
   * directly.
   */
  proxied?: readonly ServiceName[];
  broker?: NatsOptions;
  /** Three replicated brokers (`cluster`) with the users of `deploy/nats`, instead of one (`nats`). */
  cluster?: boolean;
  /** Additional variables of every service. */
  env?: Readonly<Record<string, string>>;
  /** Each service with its own broker user, as in `deploy/nats`. */
  accounts?: boolean;
}

/** Cleans up after a failed start. */
const stopping =
  (started: { stop(): Promise<void> }) =>
  async (error: unknown): Promise<never> => {
    await started.stop();
    throw error;
  };

/** A broker, a database, a tiny model and the six services as processes, restarted whenever they end. */
export class TestFleet {
  /** Descriptions of services that ended without being killed. */
  readonly unexpectedEnds: string[] = [];
  private readonly services = new Map<Member, Launched>();
  private readonly logs = new Map<Member, string>();
  private readonly proxies = new Map<ServiceName, FaultyProxy>();
  private stopping = false;
  private learnerRunsDir: string | undefined;

  private constructor(
    private readonly broker: NatsServer | NatsCluster,
    readonly bus: BusService,
    /** Folder of all files, except the stores of broker and database. */
    readonly folder: string,
    private readonly monitorPort: number,
    /** Null if the database is inside the monitor. */
    readonly postgres: PostgresServer | null,
    /** Files of the additional components that every service loads. */
    readonly plugins: readonly string[],
    private readonly options: Pick<FleetOptions, 'env' | 'accounts' | 'cluster'>,
  ) {}

  static async start(options: FleetOptions = {}): Promise<TestFleet> {
    const folder = mkdtempSync(join(tmpdir(), 'uirl-e2e-'));
    // An env service that runs as root starts its browsers as another user.
    chmodSync(folder, 0o711);
    for (const name of ['runs', 'tmp']) mkdirSync(join(folder, name));
    writeFileSync(join(folder, 'footprint.js'), REWARD);
    // The log of this process would repeat the services' dead letters and warnings.
    Logger.overrideLogger(['fatal']);
    const broker = await startBroker(options);
    const postgres = options.database === 'postgres' ? await startPostgres().catch(stopping(broker)) : null;
    const bus = await BusService.connect(brokerOf(broker, options));
    const plugins = [join(folder, 'footprint.js'), ...(options.plugins ?? [])];
    const fleet = new TestFleet(broker, bus, folder, await freePort(), postgres, plugins, options);
    // Before the services: on two cores, concurrent work would be slower.
    await writeSmallModel(fleet.modelDir);
    for (const name of options.proxied ?? []) {
      fleet.proxies.set(name, await FaultyProxy.start(fleet.nats.port));
    }
    const { copies = 1 } = options;
    for (const name of [...SERVICES, 'sampler'] as const) {
      const usual = name === 'sampler' ? 0 : 1;
      const count = typeof copies === 'number' ? copies * usual : (copies[name] ?? usual);
      for (let copy = 1; copy <= count; copy += 1) fleet.launch(copy === 1 ? name : `${name}-${copy}`);
    }
    return fleet;
  }

  /** The single broker. */
  get nats(): NatsServer {
    if (this.broker instanceof NatsCluster) throw new Error('this fleet has several brokers: see `cluster`');
    return this.broker;
  }

  /** The broker cluster. */
  get cluster(): NatsCluster {
    if (this.broker instanceof NatsCluster) return this.broker;
    throw new Error('this fleet has one broker: see `nats`');
  }

  get modelDir(): string {
    return join(this.folder, 'model');
  }

  get monitorUrl(): string {
    return `http://127.0.0.1:${this.monitorPort}`;
  }

  /** Download cache of a service. */
  cacheDir(name: Member): string {
    return join(this.folder, `cache-${name}`);
  }

  get runsDir(): string {
    return join(this.folder, 'runs');
  }

  /** The running processes. */
  get members(): Member[] {
    return [...this.services.keys()];
  }

  pidOf(name: Member): number {
    return this.services.get(name)?.pid ?? -1;
  }

  /** The proxy between a service and the broker. */
  proxyOf(name: ServiceName): FaultyProxy {
    return this.proxies.get(name)!;
  }

  /** Sends SIGSTOP: the process keeps its connections but does nothing, like a sleeping laptop. */
  suspend(name: Member): void {
    process.kill(this.pidOf(name), 'SIGSTOP');
  }

  wake(name: Member): void {
    process.kill(this.pidOf(name), 'SIGCONT');
  }

  /** Sends SIGKILL; the process is restarted. False if it was already restarting. */
  async kill(name: Member): Promise<boolean> {
    const service = this.services.get(name);
    if (service === undefined) return false;
    this.services.delete(name);
    await service.kill();
    this.keepLog(name, service);
    setTimeout(() => this.launch(name), RESTART_MS);
    return true;
  }

  /**
   * Sends SIGKILL; the learner is restarted as on another machine: with different folders, and without access to the
   * old ones.
   */
  async moveLearner(runsDir: string): Promise<void> {
    this.learnerRunsDir = runsDir;
    await this.kill('learner');
  }

  /** A run of a few short episodes; `changes` are groups of the run file whose options override the defaults. */
  async createRun(runId: string, changes: Record<string, object> = {}): Promise<RunLog> {
    const groups: Record<string, object> = {
      model: {
        name: 'tiny',
        prompt: 'compact',
        lora: { rank: 4, alpha: 8 },
        max_sequence: 256,
      },
      engine: { name: 'local', threads: 1 },
      tasks: { source_type: 'demo_training', limit: 3 },
      environment: { max_sessions: 4 },
      rollout: { group_size: 2, concurrency: 4, max_tokens: 16, max_turns: 3 },
      training: { groups_per_batch: 2, max_steps: 2, learning_rate: 0.01, eval_every: 0, save_every: 1 },
      evaluation: { episodes_per_task: 1, sets: ['train_goals'] },
    };
    for (const [name, options] of Object.entries(changes)) {
      groups[name] = Array.isArray(options) ? options : { ...groups[name], ...options };
    }
    const config = { rewards: ['task-success', 'footprint'], ...groups };
    const log = await RunLog.follow(this.bus, runId);
    await this.bus.runs.create({ runId, createdAt: new Date().toISOString(), config });
    return log;
  }

  /** Waits for a phase; if the run fails, rejects with its reason. */
  async reaches(runId: string, phase: RunPhase, timeoutMs = 120_000): Promise<void> {
    let failure: string | undefined;
    const reached = async () => {
      const state = await this.bus.runs.state(runId);
      if (state?.phase === 'failed') failure = state.reason;
      return state?.phase === phase || failure !== undefined;
    };
    await this.until(`phase ${phase} of ${runId}`, reached, timeoutMs, LOOKS_MS.away);
    if (failure !== undefined) throw new Error(`${runId} has failed: ${failure}\n${this.serviceLogs()}`);
  }

  /** Waits for a condition; on timeout, the error contains the broker's state and the services' logs. */
  async until(
    what: string,
    condition: () => boolean | Promise<boolean>,
    timeoutMs: number,
    everyMs = LOOKS_MS.here,
  ): Promise<void> {
    try {
      await eventually(what, condition, timeoutMs, everyMs);
    } catch (error) {
      const held = await consumers(this.bus).catch(String);
      throw new Error(`${(error as Error).message}\n${held}\n${this.serviceLogs()}`, { cause: error });
    }
  }

  /** Waits until a run has ended and the monitor has recorded all of its messages. */
  async completes(log: RunLog, timeoutMs = 120_000): Promise<void> {
    await this.reaches(log.runId, 'finished', timeoutMs);
    await log.ends();
    await this.until(
      `everything of ${log.runId} in the monitor`,
      async () => {
        const run = await this.api<RunDetail>(`/api/runs/${log.runId}`);
        const { phase, steps, episodes } = run;
        const expected = {
          phase: 'finished',
          steps: log.steps.at(-1)?.step,
          episodes: log.trajectories.length,
        };
        if (isDeepStrictEqual({ phase, steps, episodes }, expected)) return true;
        throw new Error(
          `it has ${JSON.stringify({ phase, steps, episodes })}, published: ${JSON.stringify(expected)}`,
        );
      },
      60_000,
      LOOKS_MS.away,
    );
  }

  /** A response of the monitor's API. */
  async api<T>(path: string): Promise<T> {
    const response = await this.fetch(path);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  async fetch(path: string): Promise<Response> {
    return fetch(`${this.monitorUrl}${path}`);
  }

  /** Opens the monitor's database. PGlite allows one process at a time, so this stops the monitor. */
  async openDatabase(): Promise<Database> {
    if (this.postgres !== null) return openDatabase({ kind: 'postgres', url: this.postgres.url });
    const monitor = await eventually('a running monitor', () => this.services.get('monitor'));
    this.services.delete('monitor');
    await monitor.stop();
    return openDatabase({ kind: 'pglite', dataDir: this.databaseDir });
  }

  /** Output of a service, over all restarts. */
  output(name: Member): string {
    return (this.logs.get(name) ?? '') + (this.services.get(name)?.output ?? '');
  }

  async stop(): Promise<void> {
    this.stopping = true;
    await Promise.all([...this.services.values()].map((service) => service.stop()));
    await Promise.all([...this.proxies.values()].map((proxy) => proxy.stop()));
    await this.bus.close();
    await this.postgres?.stop();
    await this.broker.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private get databaseDir(): string {
    return join(this.folder, 'database');
  }

  private launch(member: Member): void {
    if (this.stopping) return;
    const name = serviceOf(member);
    const isCopy = member !== name;
    const env: Record<string, string> = {
      ...this.options.env,
      ...(hasUsers(this.options)
        ? { NATS_CONTEXT: this.broker.contextFile(name) }
        : { NATS_URL: this.urlFor(member) }),
      UIRL_RUNS_DIR: this.runsDir,
      // Killed services do not remove their files.
      TMPDIR: join(this.folder, 'tmp'),
      UIRL_PLUGINS: this.plugins.join(','),
      UIRL_MODELS: `tiny=${this.modelDir},truncated=${this.modelDir}-truncated`,
      UIRL_CACHE_DIR: this.cacheDir(member),
    };
    if (name === 'env') env.CHROMIUM_BIN = findChromium();
    if (isCopy) env.UIRL_RUNS_DIR = `${this.runsDir}${member.slice(name.length)}`;
    if (member === 'learner' && this.learnerRunsDir !== undefined) env.UIRL_RUNS_DIR = this.learnerRunsDir;
    if (name === 'monitor') {
      env.MONITOR_PORT = isCopy ? '0' : String(this.monitorPort);
      if (this.postgres === null) env.UIRL_PGLITE_DIR = this.databaseDir;
      else env.DATABASE_URL = this.postgres.url;
    }
    const service = startService(name, env);
    this.services.set(member, service);
    void this.supervise(member, service);
  }

  private urlFor(member: Member): string {
    const proxy = this.proxies.get(member as ServiceName);
    return proxy === undefined ? this.nats.url : `nats://127.0.0.1:${proxy.port}`;
  }

  private async supervise(name: Member, service: Launched): Promise<void> {
    const code = await service.exited;
    if (this.stopping || this.services.get(name) !== service) return;
    this.services.delete(name);
    this.unexpectedEnds.push(`${name} ended with ${code}: ${service.output.slice(-2_000)}`);
    this.keepLog(name, service);
    await delay(RESTART_MS);
    this.launch(name);
  }

  private keepLog(name: Member, service: Launched): void {
    this.logs.set(name, (this.logs.get(name) ?? '') + service.output);
  }

  private serviceLogs(): string {
    const members = [...new Set<Member>([...SERVICES, ...this.services.keys()])];
    return members.map((name) => `--- ${name}\n${this.output(name).slice(-3_000)}`).join('\n');
  }
}

export function serviceOf(member: Member): ServiceName {
  return member.replace(/-\d+$/, '') as ServiceName;
}

function startBroker({ broker, accounts, cluster }: FleetOptions): Promise<NatsServer | NatsCluster> {
  return cluster === true ? NatsCluster.start() : startNats({ ...broker, accounts });
}

function hasUsers({ accounts, cluster }: FleetOptions): boolean {
  return accounts === true || cluster === true;
}

/**
 * Connection settings of a test: the operator user if services have their own users. In a cluster, all brokers then
 * keep all data.
 */
function brokerOf(broker: NatsServer | NatsCluster, options: FleetOptions): NatsSettings {
  const env: Record<string, string> = hasUsers(options)
    ? { NATS_CONTEXT: broker.contextFile('operator') }
    : { NATS_URL: broker.url };
  if (broker instanceof NatsCluster) env.NATS_REPLICAS = String(broker.nodes.length);
  return readServiceSettings('test', env).nats;
}

/** Pending messages of each consumer of the streams. */
async function consumers(bus: BusService): Promise<string> {
  const jsm = await jetstreamManager(bus.connection);
  const lines: string[] = [];
  for (const stream of Object.values(STREAMS)) {
    for await (const consumer of jsm.consumers.list(stream)) {
      const { name, num_pending, num_ack_pending, num_redelivered, num_waiting } = consumer;
      lines.push(
        `${stream} ${name}: ${num_pending} to deliver, ${num_ack_pending} unacknowledged, ${num_redelivered} redelivered, ${num_waiting} pulls`,
      );
    }
  }
  return lines.join('\n');
}
