import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { BusService, isUnanswered } from '@ui-rl/bus';
import {
  metricInfo,
  RolloutRequest,
  STREAMS,
  subjects,
  type PolicyActReply,
  PolicyInfoReply,
  type PolicyState,
  type Reply,
  type RunEvent,
  type Trajectory,
} from '@ui-rl/contracts';
import { loadComponents, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { RETRIES, retry } from '@ui-rl/retry';
import { openApplication } from '@ui-rl/service';
import {
  drained,
  eventually,
  makeRollout,
  makeTrajectory,
  makeTurn,
  startNats,
  type NatsServer,
} from '@ui-rl/testkit';
import { LearnerModule } from './learner.module';
import type { LearnerOptions } from './options';

const fixture = join(__dirname, '../../../test/golden/fixtures/qwen3-vl-a');
const png = readFileSync(join(fixture, 'images/0.png'));

/** As somebody outside of the project writes them: one that records into a file, one that always fails. */
const TRACKERS = `
const { appendFile } = require('node:fs/promises');
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
module.exports.components = [notes, broken];
`;

let nats: NatsServer;
let bus: BusService;
let components: ComponentRegistry;
let runsDir: string;
let app: INestApplicationContext | undefined;
let served: BusService | undefined;
let runs = 0;
const failures: unknown[] = [];

beforeAll(async () => {
  nats = await startNats();
  bus = await BusService.connect({ service: 'test', servers: [nats.url] });
  runsDir = await mkdtemp(join(tmpdir(), 'learner-'));
  await writeFile(join(runsDir, 'trackers.js'), TRACKERS);
  components = await loadComponents({ packages: ['./trackers.js'], from: runsDir });
});

afterEach(async () => {
  await quit();
  expect(failures.splice(0)).toEqual([]);
});

afterAll(async () => {
  await bus.close();
  await nats.stop();
  await rm(runsDir, { recursive: true, force: true });
});

function optionsWith(changes: Partial<LearnerOptions> = {}): LearnerOptions {
  return {
    runsDir,
    ifLogDirExists: 'ask',
    model: 'fixture',
    models: { fixture: join(fixture, 'model') },
    hub: { endpoint: 'http://127.0.0.1:9', cacheDir: join(runsDir, 'hub'), offline: true },
    cacheDir: join(runsDir, '.cache'),
    engine: { name: 'local', device: 'cpu', threads: 1 },
    sampler: { name: 'engine' },
    trackers: [{ name: 'jsonl' }],
    algorithm: {
      advantage: { name: 'grpo' },
      loss: { name: 'ppo' },
      correction: { name: 'none' },
      optimizer: { name: 'adamw' },
      schedule: { name: 'constant' },
      aggregation: 'token-mean',
      learningRate: 1e-3,
      maxGradNorm: 1,
      substeps: 1,
      minibatches: 1,
    },
    trainable: {
      mode: 'lora',
      lora: { rank: 2, alpha: 4, targets: 'attention', dropout: 0, vision: false, rslora: false },
    },
    maxRows: 4,
    maxSequence: 128,
    deterministic: false,
    seed: 1,
    groupSize: 2,
    groupsPerBatch: 2,
    maxStepsOffPolicy: 0,
    maxReplacedGroups: 0,
    maxAttempts: 2,
    maxSteps: 0,
    maxMinutes: 0,
    keepEvery: [2],
    uploads: 'all',
    ...changes,
  };
}

/** Starts a learner over a connection of its own, as a process would. */
async function begin(runId: string | undefined, options: LearnerOptions): Promise<void> {
  served = await BusService.connect({ service: 'learner', servers: [nats.url] });
  const onFailure = (error: unknown): void => void failures.push(error);
  app = await openApplication(
    served,
    LearnerModule.forRoot({ runId, components, optionsOf: () => options, onFailure }),
  );
}

async function quit(): Promise<void> {
  await app?.close();
  await served?.close();
  app = served = undefined;
}

/** A run whose training has begun, and its learner. */
async function startRun(changes: Partial<LearnerOptions> = {}): Promise<string> {
  runs += 1;
  const runId = `learner-test-${runs}`;
  await bus.runs.create({ runId, createdAt: new Date().toISOString(), config: {} }, 'training');
  await begin(runId, optionsWith(changes));
  await eventually('the policy state', async () => (await bus.runs.policy(runId)) !== null, 30_000);
  return runId;
}

async function act(runId: string, requestId: string, changes: object = {}): Promise<Reply<PolicyActReply>> {
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
  const ask = () => bus.request<PolicyActReply>(subjects.policyAct(runId), request, 10_000);
  return retry(RETRIES.request, ask, { until: Date.now() + 10_000, isTransientResult: isUnanswered });
}

function valueOf<T>(reply: Reply<T>): T {
  if (!reply.ok) throw new Error(reply.error.message);
  return reply.value;
}

interface Episode {
  group: number;
  member: number;
  reward: number;
  attempt?: number;
  changes?: Partial<Trajectory>;
}

/** Plays one episode of one turn with the served policy, as an actor would, and publishes it. */
async function play(
  runId: string,
  { group, member, reward, attempt = 0, changes }: Episode,
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
    rolloutId: `${groupId}-r${member}${suffix}`,
  });
  const said = valueOf(await act(runId, `${request.rolloutId}/0`, { seed: 10 * group + member }));
  await bus.blobs.put(png);
  const trajectory = makeTrajectory({
    request,
    reward,
    success: reward > 0,
    turns: [makeTurn(said)],
    ...changes,
  });
  await bus.publishJson(subjects.trajectory(runId, 'train'), trajectory, request.rolloutId);
  return trajectory;
}

async function playGroup(runId: string, group: number, rewards: [number, number]): Promise<void> {
  await Promise.all(rewards.map((reward, member) => play(runId, { group, member, reward })));
}

async function version(runId: string): Promise<number | undefined> {
  return (await bus.runs.policy(runId))?.version;
}

async function reached(runId: string, step: number): Promise<void> {
  await eventually(`step ${step} of ${runId}`, async () => (await version(runId)) === step, 30_000);
}

/** Everything a subject of a run holds, oldest first. */
async function stored<T>(stream: string, subject: string, name: string): Promise<T[]> {
  const found: T[] = [];
  const consumption = await bus.consume<T>({
    stream,
    subject,
    durable: name,
    handle: async (m) => void found.push(m),
  });
  await drained(bus, stream, name);
  await consumption.stop();
  return found;
}

function events<E extends RunEvent['type']>(
  runId: string,
  type: E,
): Promise<Extract<RunEvent, { type: E }>[]> {
  return stored(
    STREAMS.events,
    subjects.event(runId, type),
    `t-${runId}-${type}-${Math.random().toString(36).slice(2)}`,
  );
}

it('knows a screenshot by its hash once it was sent or stored', async () => {
  const runId = await startRun();
  const sent = valueOf(await act(runId, 'a/0'));
  const [sha256] = sent.promptImages;
  expect(valueOf(await act(runId, 'a/0', { images: [sha256] }))).toEqual(sent);
  const other = readFileSync(join(fixture, 'images/1.png'));
  const hash = createHash('sha256').update(other).digest('hex');
  expect(await act(runId, 'b/0', { images: [hash] })).toMatchObject({
    ok: false,
    error: { code: 'unknown_image', message: expect.stringContaining(hash) },
  });
  await bus.blobs.put(other, hash);
  expect(valueOf(await act(runId, 'b/0', { images: [hash] })).promptImages).toEqual([hash]);
});

it('serves the policy: tokens, log-probabilities and what was read; the same request gets the same answer', async () => {
  const runId = await startRun();
  const first = valueOf(await act(runId, 'a/0'));
  expect(first.policyVersion).toBe(0);
  expect(first.tokenIds.length).toBeGreaterThan(0);
  expect(first.logprobs).toHaveLength(first.tokenIds.length);
  expect(first.promptImages).toHaveLength(1);
  expect(first.promptTokenIds.filter((id) => id === 298)).toHaveLength(first.imageTokens);
  expect(valueOf(await act(runId, 'a/0'))).toEqual(first);
  const named = valueOf(await act(runId, 'b/0', { policy: `uirl://${runId}/sampler_weights/000000` }));
  expect(named.adapterDigest).toBe(first.adapterDigest);
  expect(await act(runId, 'c/0', { policy: `uirl://${runId}/sampler_weights/000009` })).toMatchObject({
    ok: false,
    error: { code: 'unknown_policy', message: expect.stringContaining('object store, which has 000000') },
  });
  expect(await act(runId, 'd/0', { images: [] })).toMatchObject({
    ok: false,
    error: { code: 'bad_request' },
  });
  expect(await act(runId, 'e/0', { images: [new Uint8Array(9)] })).toMatchObject({
    ok: false,
    error: { code: 'bad_request' },
  });
  const info = await bus.request<PolicyInfoReply>(subjects.policyInfo(runId), { runId }, 5000);
  expect(valueOf(info)).toMatchObject({ runId, step: 0, adapterDigest: first.adapterDigest });
  const modelImageOf = (width: number, height: number) =>
    bus.request(subjects.policyInfo(runId), { runId, screenshot: { width, height } }, 5000, PolicyInfoReply);
  // The model reads patches of 8 × 8 pixels, 2 × 2 of them a token.
  expect(valueOf(await modelImageOf(60, 45)).modelImage).toEqual({ width: 64, height: 48 });
  expect(await modelImageOf(1, 3000)).toMatchObject({ ok: false, error: { code: 'bad_request' } });
});

it('trains complete groups, saves a checkpoint, tells it, and serves the new policy', async () => {
  const runId = await startRun();
  expect(await bus.runs.policy(runId)).toMatchObject({ version: 0, groupsRequested: 2 });
  await playGroup(runId, 0, [1, 0]);
  await playGroup(runId, 1, [0, 1]);
  await reached(runId, 1);
  expect(await bus.runs.policy(runId)).toMatchObject({
    checkpoint: `uirl://${runId}/sampler_weights/000001`,
    groupsRequested: 4,
  });
  const said = valueOf(await act(runId, 'later/0'));
  expect(said.policyVersion).toBe(1);
  await playGroup(runId, 2, [1, 0]);
  await playGroup(runId, 3, [0, 1]);
  await reached(runId, 2);
  const steps = await events(runId, 'train_step');
  expect(steps.map(({ step }) => step)).toEqual([1, 2]);
  expect(steps.flatMap(({ rolloutIds }) => rolloutIds)).toEqual(
    [0, 1, 2, 3].flatMap((group) => [0, 1].map((member) => `${runId}-g${group}-r${member}`)),
  );
  expect(Object.keys(steps[0].metrics).filter((name) => metricInfo(name) === undefined)).toEqual([]);
  expect(steps[0].metrics).toMatchObject({
    'env/all/reward/total': 0.5,
    'env/all/by_group/frac_mixed': 1,
    'optim/lr': 1e-3,
    'sampling_client/step_mean': 0,
    'async/steps_off_policy_max': 0,
  });
  expect(Math.abs(steps[1].metrics['optim/kl_sample_train_v1'])).toBeLessThan(1e-4);
  expect(steps[1].metrics['optim/grad_norm']).toBeGreaterThan(0);
  expect((await events(runId, 'checkpoint')).map(({ step }) => step)).toEqual([0, 2]);
  const lines = (await readFile(join(runsDir, runId, 'metrics.jsonl'), 'utf8')).trim().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { step: number }).step)).toEqual([1, 2]);
  expect(await readdir(join(runsDir, runId, 'checkpoints/000002'))).toEqual(
    expect.arrayContaining([
      'adapter_config.json',
      'adapter_model.safetensors',
      'optimizer.safetensors',
      'state.json',
    ]),
  );
  const old = valueOf(await act(runId, 'old/0', { policy: `uirl://${runId}/sampler_weights/000001` }));
  expect(old.adapterDigest).toBe(said.adapterDigest);
});

it('records steps and evaluations with its trackers; one that fails does not end the run', async () => {
  const trackers = [{ name: 'broken' }, { name: 'notes' }, { name: 'jsonl' }];
  const runId = await startRun({ groupsPerBatch: 1, trackers });
  await playGroup(runId, 0, [1, 0]);
  await reached(runId, 1);
  const evaluation = {
    type: 'evaluation' as const,
    runId,
    evaluationId: 'e',
    stage: 'baseline' as const,
    set: 'eval_goals',
    policyVersion: 0,
    checkpoint: `uirl://${runId}/sampler_weights/000000`,
    successRate: 0.25,
    interval: [0.1, 0.5] as [number, number],
    episodes: 4,
    invalid: 0,
    tasks: [],
  };
  await bus.event(evaluation, 'e');
  const notes = async (): Promise<string[]> =>
    (await readFile(join(runsDir, runId, 'notes.txt'), 'utf8')).trim().split('\n');
  await eventually('the evaluation', async () => (await notes()).includes('eval_goals at 0: 0.25'));
  await quit();
  expect((await notes()).toSorted()).toEqual(['closed', 'eval_goals at 0: 0.25', 'step 1 of 2 samples']);
});

it('goes on after its process ended: nothing is trained twice, nothing is lost', async () => {
  const runId = await startRun({ groupsPerBatch: 1 });
  await playGroup(runId, 0, [1, 0]);
  await reached(runId, 1);
  const half = await play(runId, { group: 1, member: 0, reward: 1 });
  const before = await bus.runs.policy(runId);
  await quit();
  // What was trained already is delivered once more, as after a lost acknowledgement.
  await bus.publishJson(
    subjects.trajectory(runId, 'train'),
    Object.assign(makeTrajectory(), half, {
      request: Object.assign(makeRollout(), half.request, { groupIndex: 0 }),
    }),
    'again',
  );
  await begin(runId, optionsWith({ groupsPerBatch: 1 }));
  await play(runId, { group: 1, member: 1, reward: 0 });
  await reached(runId, 2);
  const said = valueOf(await act(runId, 'x/0'));
  expect(said.policyVersion).toBe(2);
  expect(said.adapterDigest).not.toBe(before?.adapterDigest);
  const steps = await events(runId, 'train_step');
  expect(steps.map(({ step, rolloutIds }) => [step, rolloutIds.length])).toEqual([
    [1, 2],
    [2, 2],
  ]);
  const lines = (await readFile(join(runsDir, runId, 'metrics.jsonl'), 'utf8')).trim().split('\n');
  expect(lines).toHaveLength(2);
});

it('goes on in another folder where its machine is gone, with the same weights and optimizer', async () => {
  const ends: PolicyState[] = [];
  for (const folder of [runsDir, join(runsDir, 'other-machine')]) {
    const changes = { groupsPerBatch: 1, deterministic: true };
    const runId = await startRun(changes);
    await playGroup(runId, 0, [1, 0]);
    await reached(runId, 1);
    await quit();
    await begin(runId, optionsWith({ ...changes, runsDir: folder }));
    await playGroup(runId, 1, [1, 0]);
    await reached(runId, 2);
    ends.push((await bus.runs.policy(runId))!);
    await quit();
    expect(await readdir(join(folder, runId, 'checkpoints'))).toContain('000002');
  }
  expect(ends[1].adapterDigest).toBe(ends[0].adapterDigest);
});

it('goes on from the run that left its checkpoints in the same folder, or leaves that alone', async () => {
  const logDir = 'shared-folder';
  const first = await startRun({ groupsPerBatch: 1, logDir });
  await playGroup(first, 0, [1, 0]);
  await reached(first, 1);
  const { adapterDigest } = (await bus.runs.policy(first))!;
  await quit();
  await bus.runs.changePhase(first, 'finished');
  const second = await startRun({ groupsPerBatch: 1, logDir, ifLogDirExists: 'resume' });
  expect(await bus.runs.policy(second)).toMatchObject({ version: 0, adapterDigest });
  await quit();
  await bus.runs.changePhase(second, 'finished');
  const skipped = `learner-test-${(runs += 1)}`;
  await bus.runs.create({ runId: skipped, createdAt: new Date().toISOString(), config: {} }, 'training');
  await begin(skipped, optionsWith({ logDir, ifLogDirExists: 'skip' }));
  await eventually('the end', async () => (await bus.runs.state(skipped))?.phase === 'stopped', 20_000);
  expect((await bus.runs.state(skipped))?.reason).toMatch(
    /shared-folder has checkpoints of run learner-test/,
  );
});

it('begins with the weights of a checkpoint that is named by its address, with an optimizer of its own', async () => {
  const first = await startRun({ groupsPerBatch: 1 });
  await playGroup(first, 0, [1, 0]);
  await reached(first, 1);
  const { adapterDigest } = (await bus.runs.policy(first))!;
  await quit();
  await bus.runs.changePhase(first, 'finished');
  const loadCheckpoint = `uirl://${first}/sampler_weights/000001`;
  const second = await startRun({ loadCheckpoint, runsDir: join(runsDir, 'a-machine-that-never-saw-it') });
  expect(await bus.runs.policy(second)).toMatchObject({ version: 0, adapterDigest });
});

it('has invalid episodes played again, a bounded number of times, and keeps them out of the batch', async () => {
  const runId = await startRun({ groupsPerBatch: 1 });
  const invalid = { status: 'invalid' as const, invalidReason: 'the browser crashed', turns: [] };
  await play(runId, { group: 0, member: 0, reward: 1 });
  await play(runId, { group: 0, member: 1, reward: 0, changes: invalid });
  const refills = async () =>
    stored<RolloutRequest>(STREAMS.rollouts, subjects.rollout(runId, 'train'), `actors-${runId}`);
  const [refill] = await refills();
  expect(refill).toMatchObject({ rolloutId: `${runId}-g0-r1-a1`, attempt: 1, indexInGroup: 1 });
  await play(runId, { group: 0, member: 1, reward: 0, attempt: 1 });
  await reached(runId, 1);
  const [step] = await events(runId, 'train_step');
  expect(step.rolloutIds).toEqual([`${runId}-g0-r0`, `${runId}-g0-r1-a1`]);
  expect(step.metrics['env/all/invalid_share']).toBeCloseTo(1 / 3, 6);
  // Twice invalid: the slot stays empty.
  await play(runId, { group: 1, member: 0, reward: 1 });
  await play(runId, { group: 1, member: 1, reward: 0, changes: invalid });
  await play(runId, { group: 1, member: 1, reward: 0, attempt: 1, changes: invalid });
  await reached(runId, 2);
  expect((await events(runId, 'train_step'))[1].rolloutIds).toEqual([`${runId}-g1-r0`]);
});

it('refuses what was sampled by weights it never had, and says so', async () => {
  const runId = await startRun({ groupsPerBatch: 1 });
  const forged = [makeTurn({ adapterDigest: 'f'.repeat(64) })];
  await play(runId, { group: 0, member: 0, reward: 1, changes: { turns: forged } });
  await eventually('the warning', async () => (await events(runId, 'warning')).length === 1);
  const [warning] = await events(runId, 'warning');
  expect(warning).toMatchObject({ code: 'unknown_adapter', message: expect.stringContaining('ffff') });
  await play(runId, { group: 0, member: 0, reward: 1, attempt: 1 });
  await play(runId, { group: 0, member: 1, reward: 0 });
  await reached(runId, 1);
  expect((await events(runId, 'train_step'))[0].rolloutIds).toEqual([`${runId}-g0-r0-a1`, `${runId}-g0-r1`]);
});

it('makes dead letters of episodes nobody requested, and trains the others', async () => {
  const runId = await startRun({ groupsPerBatch: 1 });
  // As many as it takes in at the same time: they must not keep the others waiting.
  await playGroup(runId, 5, [1, 0]);
  await playGroup(runId, 0, [1, 0]);
  await reached(runId, 1);
  const told = await events(runId, 'dead_letter');
  expect(told.map(({ service, subject }) => [service, subject])).toEqual([
    ['learner', subjects.trajectory(runId, 'train')],
    ['learner', subjects.trajectory(runId, 'train')],
  ]);
  expect(told[0].reason).toContain('group 5, but only 1 were requested');
  expect((await events(runId, 'train_step'))[0].rolloutIds).toEqual([`${runId}-g0-r0`, `${runId}-g0-r1`]);
});

it('asks for other groups where one teaches nothing, up to the limit', async () => {
  const runId = await startRun({ groupsPerBatch: 1, maxReplacedGroups: 1 });
  await playGroup(runId, 0, [1, 1]);
  await eventually('one more group', async () => (await bus.runs.policy(runId))?.groupsRequested === 2);
  expect(await version(runId)).toBe(0);
  await playGroup(runId, 1, [0, 0]);
  await reached(runId, 1);
  const [step] = await events(runId, 'train_step');
  expect(step.rolloutIds).toEqual([`${runId}-g1-r0`, `${runId}-g1-r1`]);
  expect(step.metrics).toMatchObject({ 'env/all/groups_replaced': 1, 'optim/substeps': 0 });
  expect(await bus.runs.policy(runId)).toMatchObject({ groupsRequested: 3 });
});

it('ends after its last step, with a checkpoint, and goes on serving', async () => {
  const runId = await startRun({ groupsPerBatch: 1, maxSteps: 1, keepEvery: [50] });
  expect(await bus.runs.policy(runId)).toMatchObject({ groupsRequested: 1 });
  await playGroup(runId, 0, [1, 0]);
  await eventually(
    'the final evaluation',
    async () => (await bus.runs.state(runId))?.phase === 'final_eval',
    20_000,
  );
  expect((await bus.runs.policy(runId))?.groupsRequested).toBe(1);
  expect((await events(runId, 'checkpoint')).map(({ step }) => step)).toEqual([0, 1]);
  expect(valueOf(await act(runId, 'end/0', { temperature: 0 })).policyVersion).toBe(1);
});

it('trains groups in order and gives the same weights again in deterministic mode', async () => {
  const digests: (string | undefined)[] = [];
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    const runId = await startRun({ deterministic: true });
    for (const group of order) await playGroup(runId, group, [1, 0]);
    await reached(runId, 1);
    digests.push((await bus.runs.policy(runId))?.adapterDigest);
    const [step] = await events(runId, 'train_step');
    expect(step.rolloutIds[0]).toBe(`${runId}-g0-r0`);
    await quit();
  }
  expect(digests[0]).toBe(digests[1]);
});

it('marks a run it cannot serve as failed, with the reason', async () => {
  runs += 1;
  const runId = `learner-test-${runs}`;
  await bus.runs.create({ runId, createdAt: new Date().toISOString(), config: {} });
  await begin(runId, optionsWith({ model: '/nowhere/at/all' }));
  await eventually('the failure', async () => (await bus.runs.state(runId))?.phase === 'failed', 20_000);
  expect((await bus.runs.state(runId))?.reason).toContain('/nowhere/at/all');
});

it('serves one run after the other: the next one when the first is over', async () => {
  runs += 1;
  const [first, second] = [`learner-test-${runs}-a`, `learner-test-${runs}-b`];
  // Other runs of these tests are still open.
  for (const key of await bus.runsBucket.keys('*.state')) {
    await bus.runs.changePhase(key.slice(0, -'.state'.length), 'stopped');
  }
  await begin(undefined, optionsWith());
  for (const runId of [first, second]) {
    await bus.runs.create({ runId, createdAt: new Date().toISOString(), config: {} }, 'training');
  }
  expect(valueOf(await act(first, 'one')).policyVersion).toBe(0);
  expect(await bus.runs.policy(second)).toBeNull();
  await bus.runs.changePhase(first, 'finished');
  expect(valueOf(await act(second, 'two')).policyVersion).toBe(0);
});
