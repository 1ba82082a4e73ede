import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { metricInfo } from '@ui-rl/contracts';
import { eventually } from '@ui-rl/testkit';
import { LearnerWorld, valueOf } from '../../test/learner-world';

let world: LearnerWorld;

beforeAll(async () => {
  world = await LearnerWorld.open();
});
afterEach(() => world.quit());
afterAll(() => world.close());

it('trains complete groups, saves a checkpoint, tells it, and serves the new policy', async () => {
  const runId = await world.startRun();
  expect(await world.bus.runs.policy(runId)).toMatchObject({ version: 0, groupsRequested: 2 });
  await world.playGroup(runId, 0, [1, 0]);
  await world.playGroup(runId, 1, [0, 1]);
  await world.reached(runId, 1);
  expect(await world.bus.runs.policy(runId)).toMatchObject({
    checkpoint: `uirl://${runId}/sampler_weights/000001`,
    groupsRequested: 4,
  });
  const said = valueOf(await world.act(runId, 'later/0'));
  expect(said.policyVersion).toBe(1);
  await world.playGroup(runId, 2, [1, 0]);
  await world.playGroup(runId, 3, [0, 1]);
  await world.reached(runId, 2);
  const steps = await world.events(runId, 'train_step');
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
  const tokens = await world.events(runId, 'trained_tokens');
  expect(tokens.map(({ step }) => step)).toEqual([1, 2]);
  const { episodes } = tokens[1];
  expect(episodes.map(({ rolloutId }) => rolloutId)).toEqual(steps[1].rolloutIds);
  expect(episodes.map(({ advantage }) => advantage)).toEqual([0.70711, -0.70711, -0.70711, 0.70711]);
  expect(Object.keys(episodes[0].turns[0]).toSorted()).toEqual([
    'advantages',
    'index',
    'logprobs',
    'weights',
  ]);
  expect(Math.abs(steps[1].metrics['optim/kl_sample_train_v1'])).toBeLessThan(1e-4);
  expect(steps[1].metrics['optim/grad_norm']).toBeGreaterThan(0);
  const { 'time/upload': upload, 'time/checkpoint': checkpoint, ...second } = steps[1].metrics;
  expect(upload).toBeLessThanOrEqual(checkpoint);
  // A step's parts do not overlap: waiting for episodes does not hide the checkpoint of the previous step.
  const parts = second['time/waiting_for_episodes'] + second['time/train'] + checkpoint;
  expect(parts).toBeLessThanOrEqual(second['time/total'] + 0.01);
  expect((await world.events(runId, 'checkpoint')).map(({ step }) => step)).toEqual([0, 2]);
  const lines = (await readFile(join(world.runsDir, runId, 'metrics.jsonl'), 'utf8')).trim().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { step: number }).step)).toEqual([1, 2]);
  const saved = await readFile(join(world.runsDir, runId, 'checkpoints.jsonl'), 'utf8');
  const checkpoints = saved.trim().split('\n');
  expect(checkpoints.map((line) => JSON.parse(line) as unknown)).toEqual(
    ['000000', '000002'].map((name) => ({
      name,
      batch: Number(name),
      state_path: join(world.runsDir, runId, 'checkpoints', name),
      sampler_path: `uirl://${runId}/sampler_weights/${name}`,
      at: expect.any(String) as string,
    })),
  );
  expect(await readdir(join(world.runsDir, runId, 'checkpoints/000002'))).toEqual(
    expect.arrayContaining([
      'adapter_config.json',
      'adapter_model.safetensors',
      'optimizer.safetensors',
      'state.json',
    ]),
  );
  expect(await readdir(join(world.runsDir, runId, 'episodes/000002'))).toContain(`${runId}-g2.html`);
  const old = valueOf(await world.act(runId, 'old/0', { policy: `uirl://${runId}/sampler_weights/000001` }));
  expect(old.adapterDigest).toBe(said.adapterDigest);
});

it('records steps and evaluations with its trackers; one that fails does not end the run', async () => {
  const trackers = [{ name: 'broken' }, { name: 'notes' }, { name: 'jsonl' }];
  const runId = await world.startRun({ 'training.groups_per_batch': 1, 'logging.trackers': trackers });
  await world.playGroup(runId, 0, [1, 0]);
  await world.reached(runId, 1);
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
  await world.bus.event(evaluation, 'e');
  const notes = async (): Promise<string[]> =>
    (await readFile(join(world.runsDir, runId, 'notes.txt'), 'utf8')).trim().split('\n');
  await eventually('the evaluation', async () => (await notes()).includes('eval_goals at 0: 0.25'));
  await world.quit();
  expect((await notes()).toSorted()).toEqual(['closed', 'eval_goals at 0: 0.25', 'step 1 of 2 samples']);
});

it('asks for other groups where one teaches nothing, up to the limit', async () => {
  const runId = await world.startRun({
    'training.groups_per_batch': 1,
    'algorithm.dynamic_sampling': true,
    'algorithm.dynamic_sampling_limit': 1,
  });
  await world.playGroup(runId, 0, [1, 1]);
  await eventually('one more group', async () => (await world.bus.runs.policy(runId))?.groupsRequested === 2);
  expect(await world.version(runId)).toBe(0);
  await world.playGroup(runId, 1, [0, 0]);
  await world.reached(runId, 1);
  const [step] = await world.events(runId, 'train_step');
  expect(step.rolloutIds).toEqual([`${runId}-g1-r0`, `${runId}-g1-r1`]);
  expect(step.metrics).toMatchObject({ 'env/all/groups_replaced': 1, 'optim/substeps': 0 });
  expect(await world.bus.runs.policy(runId)).toMatchObject({ groupsRequested: 3 });
});

it('tells the estimator of groups that are not trained, since others have taken their place', async () => {
  const advantage = { name: 'rejection_sampling', weight_by_success_rate: true };
  const runId = await world.startRun({
    ...{
      'training.groups_per_batch': 1,
      'algorithm.dynamic_sampling': true,
      'algorithm.dynamic_sampling_limit': 1,
    },
    'algorithm.advantage': advantage,
    'algorithm.loss': 'cross_entropy',
  });
  await world.playGroup(runId, 0, [0, 0]);
  await world.requested(runId, 2);
  await world.playGroup(runId, 1, [1, 0]);
  await world.reached(runId, 1);
  const [step] = await world.events(runId, 'train_step');
  // Three of four episodes of the task have failed: (3 + 1) / (4 + 2).
  expect(step.metrics['advantage/weight_mean']).toBeCloseTo(4 / 6, 6);
  expect(step.metrics).toMatchObject({ 'advantage/chosen': 1, 'env/all/groups_replaced': 1 });
});

it.each([50, 1])(
  'ends after its last step, with a checkpoint, and continues to serve: keeps every %i',
  async (every) => {
    const runId = await world.startRun({
      'training.groups_per_batch': 1,
      'training.max_steps': 1,
      'training.save_every': every,
    });
    expect(await world.bus.runs.policy(runId)).toMatchObject({ groupsRequested: 1 });
    await world.playGroup(runId, 0, [1, 0]);
    await eventually(
      'the final evaluation',
      async () => (await world.bus.runs.state(runId))?.phase === 'final_eval',
      20_000,
    );
    expect((await world.bus.runs.policy(runId))?.groupsRequested).toBe(1);
    const checkpoints = await world.events(runId, 'checkpoint');
    expect(checkpoints.map(({ step, last }) => [step, last])).toEqual([
      [0, undefined],
      [1, true],
    ]);
    expect(valueOf(await world.act(runId, 'end/0', { temperature: 0 })).policyVersion).toBe(1);
  },
);

it('trains groups in order and gives the same weights again in deterministic mode', async () => {
  const digests: (string | undefined)[] = [];
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    const runId = await world.startRun({ 'training.deterministic': true });
    for (const group of order) await world.playGroup(runId, group, [1, 0]);
    await world.reached(runId, 1);
    digests.push((await world.bus.runs.policy(runId))?.adapterDigest);
    const [step] = await world.events(runId, 'train_step');
    expect(step.rolloutIds[0]).toBe(`${runId}-g0-r0`);
    await world.quit();
  }
  expect(digests[0]).toBe(digests[1]);
});
