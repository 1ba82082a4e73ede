import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import type { PolicyActReply } from '@ui-rl/contracts';
import { loadComponents } from '@ui-rl/plugin-kit';
import { openApplication } from '@ui-rl/service';
import { eventually } from '@ui-rl/testkit';
import { FIXTURE, LearnerWorld, valueOf, type Changes } from '../../services/learner/test/learner-world';
import { SamplerModule } from '../../services/sampler/src/sampler.module';

/** The learner's options as a run file. */
const RUN_FILE = {
  model: {
    name: 'fixture',
    max_sequence: 128,
    lora: { rank: 2, alpha: 4, targets: 'attention' },
  },
  engine: { name: 'local', device: 'cpu', threads: 1 },
  sampler: 'external',
  tasks: { source_type: 'demo_training', limit: 2 },
  rollout: { concurrency: 4 },
  training: { deterministic: true, seed: 1, max_steps: 2 },
};
const OPTIONS: Changes = {
  'training.deterministic': true,
  'training.max_steps': 2,
  'training.save_every': 1,
};
const EXTERNAL = {
  name: 'external',
  wait_minutes: 1,
  request_timeout_ms: 30_000,
  probe_tolerance: 0.05,
};

/** Requests for a policy version: sampled, truncated, greedy, and the second turn of an episode. */
const ASKED: [requestId: string, changes: object][] = [
  ['g0-r0/0', { seed: 7 }],
  ['g0-r1/0', { seed: 8, temperature: 0.7, maxTokens: 12 }],
  ['g1-r0/0', { seed: 9, topP: 0.6, topK: 20 }],
  ['g1-r1/0', { seed: 10, temperature: 0 }],
  ['g0-r0/1', { seed: 11, maxTokens: 12 }],
];

/** The same family with different weights. */
const OTHER_MODEL = join(FIXTURE, '../qwen3-vl-b/model');

let world: LearnerWorld;
let cacheDir: string;

/** A sampler with its own connection, as in a separate process. */
class TestSampler {
  private constructor(
    private readonly bus: BusService,
    private readonly app: INestApplicationContext,
  ) {}

  static async start(model = join(FIXTURE, 'model')): Promise<TestSampler> {
    const bus = await BusService.connect({ service: 'sampler', servers: world.servers });
    const hub = { endpoint: 'http://127.0.0.1:9', cacheDir, offline: true };
    const components = await loadComponents();
    const options = { runId: undefined, components, hub, models: { fixture: model }, cacheDir };
    return new TestSampler(bus, await openApplication(bus, SamplerModule.forRoot(options)));
  }

  async stop(): Promise<void> {
    await this.app.close();
    await this.bus.close();
  }
}

beforeAll(async () => {
  world = await LearnerWorld.open();
  cacheDir = mkdtempSync(join(tmpdir(), 'uirl-samplers-'));
});
afterEach(() => world.quit());
afterAll(async () => {
  await world.close();
  rmSync(cacheDir, { recursive: true, force: true });
});

/** A run that samplers can discover, and its learner. */
async function begin(changes: Changes, config: object = RUN_FILE): Promise<string> {
  const runId = world.newRunId();
  await world.bus.runs.create(
    { runId, createdAt: new Date().toISOString(), config: { ...config } },
    'training',
  );
  await world.begin(runId, world.optionsWith({ ...OPTIONS, ...changes }));
  return runId;
}

const served = (runId: string) =>
  eventually('the policy', async () => (await world.bus.runs.policy(runId)) !== null, 30_000);

/** Answers of each version in a run of two steps. */
async function play(runId: string): Promise<Partial<PolicyActReply>[][]> {
  const versions: Partial<PolicyActReply>[][] = [];
  await served(runId);
  for (const step of [0, 1]) {
    const replies = await Promise.all(
      ASKED.map(([id, changes]) => world.act(runId, `v${step}-${id}`, changes)),
    );
    versions.push(replies.map(valueOf));
    await world.playGroup(runId, 2 * step, [1, 0]);
    await world.playGroup(runId, 2 * step + 1, [0, 1]);
    await world.reached(runId, step + 1);
  }
  return versions;
}

it('samplers say what the learner says, token by token, of every version, and lose nothing where one of them ends', async () => {
  const own = await play(await begin({ sampler: { name: 'engine' } }, {}));
  await world.quit();
  const samplers = [await TestSampler.start(), await TestSampler.start()];
  const runId = await begin({ sampler: EXTERNAL });
  const theirs = await play(runId);
  expect(theirs).toEqual(own);
  expect(new Set(theirs.flat().map(({ adapterDigest }) => adapterDigest)).size).toBe(2);
  expect(theirs.map(([{ policyVersion }]) => policyVersion)).toEqual([0, 1]);
  for (const { metrics } of await world.events(runId, 'train_step')) {
    expect(metrics['optim/samples']).toBe(4);
    expect(metrics['optim/logp_difference_max']).toBeLessThan(1e-5);
  }
  await samplers[0].stop();
  const after = valueOf(await world.act(runId, 'g9-r0/0', { seed: 7 }));
  expect(after.policyVersion).toBe(2);
  await world.quit();
  await samplers[1].stop();
  const left = await world.bus.checkpoints.files(runId);
  expect(left.filter(({ name }) => name.includes('/adapters/'))).toEqual([]);
}, 180_000);

it('a sampler whose model is another one is asked nothing, and is said to be wrong', async () => {
  const runId = await begin({ sampler: EXTERNAL });
  const other = await TestSampler.start(OTHER_MODEL);
  const ended = async (): Promise<boolean> => (await world.bus.runs.state(runId))?.phase === 'failed';
  await eventually('the end of the run', ended, 30_000);
  const [{ message }] = (await world.events(runId, 'warning')).filter(({ code }) => code === 'misconfigured');
  expect(message).toMatch(/the sampler on \S+ cannot serve this run: its log-probabilities .* differ/);
  await world.quit();
  await other.stop();
}, 120_000);

it('a run waits for its first sampler, and says so', async () => {
  const runId = await begin({ sampler: EXTERNAL });
  const warned = async (): Promise<boolean> =>
    (await world.events(runId, 'warning')).some(({ message }) => message.includes('--samplers 1'));
  await eventually('the warning', warned, 30_000);
  expect(await world.bus.runs.policy(runId)).toBeNull();
  const sampler = await TestSampler.start();
  await served(runId);
  expect(valueOf(await world.act(runId, 'g0-r0/0')).policyVersion).toBe(0);
  await world.quit();
  await sampler.stop();
}, 120_000);
