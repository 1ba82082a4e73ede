import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger, type INestApplicationContext } from '@nestjs/common';
import { BusService, isUnanswered } from '@ui-rl/bus';
import {
  STREAMS,
  subjects,
  type PolicyActReply,
  type Reply,
  type RunEvent,
  type Task,
  type Trajectory,
  type Turn,
} from '@ui-rl/contracts';
import { loadComponents, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { RETRIES, retry } from '@ui-rl/retry';
import { decideOnUnservedRuns, openApplication, receiveRunFile } from '@ui-rl/service';
import {
  drained,
  eventually,
  makeRollout,
  makeTask,
  makeTrajectory,
  makeTurn,
  startFromSource,
  startNats,
  type Launched,
  type NatsServer,
} from '@ui-rl/testkit';
import { filesOfRun, readRunFile, RunFile, type EndpointSettings } from '@ui-rl/settings';
import { PolicyEndpoint } from '../src/endpoint/policy-endpoint';
import { LearnerModule } from '../src/learner.module';
import type { MachineOptions } from '../src/options';
import { LEARNER_USES } from '../src/run-options';

Logger.overrideLogger(false);

/** Model and screenshots that the golden tests also use. */
export const FIXTURE = join(__dirname, '../../../test/golden/fixtures/qwen3-vl-a');
const png = readFileSync(join(FIXTURE, 'images/0.png'));

/** Plugin components: trackers that write to a file, or always fail; an engine that starts on no device. */
const COMPONENTS = `
const { appendFile, writeFile } = require('node:fs/promises');
const { join } = require('node:path');
const notes = {
  kind: 'tracker',
  name: 'notes',
  create: (_options, { runDir }) => {
    const note = (line) => appendFile(join(runDir, 'notes.txt'), line + '\\n');
    return {
      step: ({ step, metrics }) => note('step ' + step + ' of ' + metrics['optim/samples'] + ' samples'),
      evaluation: ({ step, set, successRate }) => note(set + ' at ' + step + ': ' + successRate),
      close: () => note('closed'),
    };
  },
};
const broken = {
  kind: 'tracker',
  name: 'broken',
  create: () => ({
    step: () => { throw new Error('never works') },
    close: () => Promise.reject(new Error('nor ends')),
  }),
};
const noting = {
  kind: 'engine',
  name: 'noting',
  create: async (_options, { device }) => {
    await writeFile(join(__dirname, 'device.txt'), String(device));
    throw new Error('there is nothing to run on');
  },
};
module.exports.components = [notes, broken, noting];
`;

/** How long to wait for a learner on a busy machine. */
const PATIENCE_MS = 60_000;

export function valueOf<T>(reply: Reply<T>): T {
  if (!reply.ok) throw new Error(reply.error.message);
  return reply.value;
}

export interface PlayedEpisode {
  group: number;
  member: number;
  reward: number;
  attempt?: number;
  task?: Task;
  /** Changes to the turn compared with the policy's answer. */
  turn?: (said: PolicyActReply) => Partial<Turn>;
  changes?: Partial<Trajectory>;
}

/** A superseded learner is as little help as silence. */
function isElsewhere(reply: Reply<unknown>): boolean {
  return isUnanswered(reply) || (!reply.ok && reply.error.code === 'deposed');
}

/** Values by option path. */
export type Changes = Readonly<Record<string, unknown>>;

/** A broker, consecutive learners, and simulated actors. */
export class LearnerWorld {
  private app: INestApplicationContext | undefined;
  private served: BusService | undefined;
  private runs = 0;
  private readonly failures: unknown[] = [];

  private constructor(
    private readonly nats: NatsServer,
    readonly bus: BusService,
    readonly runsDir: string,
    readonly components: ComponentRegistry,
  ) {}

  static async open(): Promise<LearnerWorld> {
    const nats = await startNats();
    const bus = await BusService.connect({ service: 'test', servers: [nats.url] });
    decideOnUnservedRuns(bus);
    const runsDir = await mkdtemp(join(tmpdir(), 'learner-'));
    await writeFile(join(runsDir, 'components.js'), COMPONENTS);
    const components = await loadComponents({ packages: ['./components.js'], from: runsDir });
    return new LearnerWorld(nats, bus, runsDir, components);
  }

  /** Addresses of the broker. */
  get servers(): string[] {
    return [this.nats.url];
  }

  async close(): Promise<void> {
    await this.bus.close();
    await this.nats.stop();
    await rm(this.runsDir, { recursive: true, force: true });
  }

  get machine(): MachineOptions {
    const { runsDir } = this;
    return {
      runsDir,
      models: { fixture: join(FIXTURE, 'model') },
      hub: { endpoint: 'http://127.0.0.1:9', cacheDir: join(runsDir, 'hub'), tokenFile: '', offline: true },
      cacheDir: join(runsDir, '.cache'),
      adaptersDir: join(runsDir, '.adapters'),
      samplerKeys: {},
    };
  }

  /** A run file. @param changes values by option path */
  optionsWith(changes: Changes = {}): RunFile {
    const assumed = {
      'model.name': 'fixture',
      'model.lora': { rank: 2, alpha: 4, targets: 'attention' },
      'model.max_sequence': 128,
      engine: { name: 'local', device: 'cpu', threads: 1 },
      tasks: 'demo_training',
      'rollout.group_size': 2,
      'rollout.concurrency': 4,
      'rollout.max_attempts': 2,
      'algorithm.advantage': 'grpo',
      'algorithm.loss': 'ppo',
      'training.learning_rate': 1e-3,
      'training.groups_per_batch': 2,
      'async.straggler_factor': 0,
      'training.seed': 1,
      'training.save_every': 2,
      'training.eval_every': 0,
      ...changes,
    };
    return readRunFile({ assumed, models: ['fixture'] }, this.components);
  }

  newRunId(): string {
    this.runs += 1;
    return `learner-test-${this.runs}`;
  }

  /** Starts a learner over a separate connection, like a process. */
  async begin(
    runId: string | undefined,
    options: RunFile,
    endpoint?: EndpointSettings,
    machine: Partial<MachineOptions> = {},
  ): Promise<void> {
    const bus = await BusService.connect({ service: 'learner', servers: [this.nats.url] });
    this.served = bus;
    const { components } = this;
    const received = { bus, components, cacheDir: this.machine.cacheDir };
    const { plugins: _plugins, ...config } = await this.shared(options);
    const onFailure = (error: unknown): void => void this.failures.push(error);
    this.app = await openApplication(
      bus,
      LearnerModule.forRoot(
        {
          ...{ runId, components, onFailure },
          machine: { ...this.machine, ...machine },
          optionsOf: ({ record }) =>
            receiveRunFile(Object.assign(record, { config: { ...config } }), LEARNER_USES, received),
        },
        endpoint,
      ),
    );
  }

  /** The options with the addresses of their files, as a run has them. */
  private async shared(options: RunFile): Promise<RunFile> {
    const shared = structuredClone(options);
    for (const { value, isAddress, replace } of filesOfRun(shared, this.components)) {
      if (!isAddress) replace(await this.bus.files.share(value));
    }
    return shared;
  }

  /** Address of the policy's OpenAI-compatible endpoint. */
  get endpointUrl(): string {
    return `${this.app!.get(PolicyEndpoint).url}/v1`;
  }

  /** Starts the service as a separate process. */
  startProcess(runId: string): Launched {
    const { models, cacheDir } = this.machine;
    return startFromSource('learner', {
      NATS_URL: this.nats.url,
      UIRL_RUN: runId,
      UIRL_RUNS_DIR: this.runsDir,
      UIRL_CACHE_DIR: cacheDir,
      UIRL_MODELS: Object.entries(models)
        .map(([name, dir]) => `${name}=${dir}`)
        .join(','),
    });
  }

  /** Stops the learner. Throws any error that would have ended its process before. */
  async quit(): Promise<void> {
    await this.app?.close();
    await this.served?.close();
    this.app = this.served = undefined;
    const [failure] = this.failures.splice(0);
    if (failure !== undefined) throw failure as Error;
  }

  /** Waits for the error that would have ended the learner's process. */
  async failure(): Promise<unknown> {
    await eventually('the learner to fail', () => this.failures.length > 0, PATIENCE_MS);
    return this.quit().catch((error: unknown) => error);
  }

  /** Starts a run in training, and its learner. */
  async startRun(
    changes: Changes | RunFile = {},
    endpoint?: EndpointSettings,
    machine?: Partial<MachineOptions>,
  ): Promise<string> {
    const { bus } = this;
    const runId = this.newRunId();
    await bus.runs.create({ runId, createdAt: new Date().toISOString(), config: {} }, 'training');
    const options = changes instanceof RunFile ? changes : this.optionsWith(changes);
    await this.begin(runId, options, endpoint, machine);
    await eventually('the policy state', async () => (await bus.runs.policy(runId)) !== null, PATIENCE_MS);
    return runId;
  }

  async act(runId: string, requestId: string, changes: object = {}): Promise<Reply<PolicyActReply>> {
    const content = [
      { type: 'image', image: 0 },
      { type: 'text', text: 'Open Settings' },
    ];
    const request = {
      runId,
      requestId,
      messages: [{ role: 'user', content }],
      images: [png],
      policy: 'latest',
      maxTokens: 4,
      temperature: 1,
      topP: 1,
      seed: 7,
      ...changes,
    };
    const ask = () => this.bus.request<PolicyActReply>(subjects.policyAct(runId), request, PATIENCE_MS);
    const until = performance.now() + PATIENCE_MS;
    return retry(RETRIES.request, ask, { until, isTransientResult: isElsewhere });
  }

  /** Plays one episode of one turn with the served policy, like an actor, and publishes it. */
  async play(
    runId: string,
    { group, member, reward, attempt = 0, task = makeTask(), turn, changes }: PlayedEpisode,
  ): Promise<Trajectory> {
    const groupId = `${runId}-g${group}`;
    const suffix = attempt === 0 ? '' : `-a${attempt}`;
    const request = makeRollout({
      runId,
      groupId,
      groupIndex: group,
      indexInGroup: member,
      groupSize: 2,
      attempt,
      task,
      rolloutId: `${groupId}-r${member}${suffix}`,
    });
    const said = valueOf(await this.act(runId, `${request.rolloutId}/0`, { seed: 10 * group + member }));
    await this.bus.blobs.of(runId).put(png);
    const trajectory = makeTrajectory({
      request,
      reward,
      success: reward > 0,
      turns: [Object.assign(makeTurn(said), turn?.(said))],
      ...changes,
    });
    await this.bus.publishJson(subjects.trajectory(runId, 'train'), trajectory, request.rolloutId);
    return trajectory;
  }

  async playGroup(
    runId: string,
    group: number,
    rewards: [number, number],
    how: Pick<PlayedEpisode, 'task' | 'turn' | 'changes'> = {},
  ): Promise<void> {
    await Promise.all(rewards.map((reward, member) => this.play(runId, { group, member, reward, ...how })));
  }

  /** Waits until the learner has requested this many groups. */
  async requested(runId: string, groups: number): Promise<void> {
    const requested = async (): Promise<boolean> =>
      (await this.bus.runs.policy(runId))?.groupsRequested === groups;
    await eventually(`${groups} groups of ${runId}`, requested, PATIENCE_MS);
  }

  async version(runId: string): Promise<number | undefined> {
    return (await this.bus.runs.policy(runId))?.version;
  }

  /** Waits until the learner samples from the weights after this many steps, and has reported the last of them. */
  async reached(runId: string, step: number): Promise<void> {
    await eventually(
      `step ${step} of ${runId}`,
      async () => (await this.version(runId)) === step,
      PATIENCE_MS,
    );
    const reported = async (): Promise<boolean> =>
      (await this.events(runId, 'train_step')).some((event) => event.step === step);
    if (step > 0) await eventually(`the report of step ${step} of ${runId}`, reported, PATIENCE_MS);
  }

  /** All messages of a run's subject, oldest first. */
  async stored<T>(stream: string, subject: string, name: string): Promise<T[]> {
    const found: T[] = [];
    const consumption = await this.bus.consume<T>({
      stream,
      subject,
      durable: name,
      handle: async (m) => void found.push(m),
    });
    await drained(this.bus, stream, name);
    await consumption.stop();
    return found;
  }

  events<E extends RunEvent['type']>(runId: string, type: E): Promise<Extract<RunEvent, { type: E }>[]> {
    return this.stored(
      STREAMS.events,
      subjects.event(runId, type),
      `t-${runId}-${type}-${Math.random().toString(36).slice(2)}`,
    );
  }
}
