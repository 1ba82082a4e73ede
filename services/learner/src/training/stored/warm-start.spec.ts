import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { metricInfo, type Trajectory } from '@ui-rl/contracts';
import { eventually } from '@ui-rl/testkit';
import { FIXTURE, LearnerWorld, type Changes } from '../../../test/learner-world';
import type { WarmStartGroup } from '@ui-rl/settings';
import { WITH_CRITIC } from '../../../test/learning-options';

const PNG = readFileSync(join(FIXTURE, 'images/0.png')).toString('base64');

let world: LearnerWorld;
let file: string;
let episodes: Trajectory[];

beforeAll(async () => {
  world = await LearnerWorld.open();
  file = join(world.runsDir, 'episodes.jsonl');
  const source = await world.startRun({ 'training.groups_per_batch': 4 });
  episodes = [];
  // Four starts, each played well once and badly once.
  for (let index = 0; index < 8; index += 1) {
    const [group, member] = [Math.floor(index / 2), index % 2];
    const played = await world.play(source, { group, member, reward: member === 0 ? 1 : 0 });
    played.request.seed = group;
    episodes.push(played);
  }
  await world.quit();
  await store(episodes);
});
afterEach(() => world.quit());
afterAll(() => world.close());

async function store(trajectories: readonly Trajectory[]): Promise<void> {
  const hash = trajectories[0].turns[0].promptImages[0];
  const lines = trajectories.map((trajectory, index) =>
    JSON.stringify({ trajectory, ...(index === 0 ? { images: { [hash]: PNG } } : {}) }),
  );
  await writeFile(file, lines.join('\n'));
}

function warmStart(changes: Partial<WarmStartGroup> = {}): Changes {
  const options = { episodes: file, batch_size: 2, epochs: 3, learning_rate: 1e-2, ...changes };
  return { 'training.warm_start': options };
}

const ended = (runId: string) =>
  eventually('the end', async () => (await world.bus.runs.state(runId))?.phase === 'final_eval', 60_000);

/** The digest of the weights after each kept step. */
async function digests(runId: string): Promise<string[]> {
  return (await world.events(runId, 'checkpoint')).map(({ adapterDigest }) => adapterDigest);
}

it('trains on stored successes before it requests episodes, and then continues with played ones', async () => {
  const runId = await world.startRun({ ...warmStart(), 'training.max_steps': 1, 'training.save_every': 4 });
  await world.requested(runId, 2);
  expect(await world.version(runId)).toBe(6);
  const before = await world.events(runId, 'train_step');
  expect(before.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(before[2].metrics).toMatchObject({
    'optim/lr': 1e-2,
    'warm_start/epoch': 1.5,
    'warm_start/done_frac': 0.5,
    'warm_start/episodes': 2,
    'progress/batch': 3,
  });
  const names = Object.keys(before[2].metrics);
  expect(names.filter((name) => metricInfo(name) === undefined)).toEqual([]);
  // This run did not sample them.
  expect(names.filter((name) => name.includes('kl_sample_train'))).toEqual([]);
  expect(before[5].metrics['optim/loss']).toBeLessThan(before[0].metrics['optim/loss']);
  const successes = episodes.filter(({ reward }) => reward > 0).map(({ request }) => request.rolloutId);
  expect([...new Set(before.flatMap(({ rolloutIds }) => rolloutIds))].toSorted()).toEqual(
    successes.toSorted(),
  );

  await world.playGroup(runId, 0, [1, 0]);
  await world.playGroup(runId, 1, [0, 1]);
  await world.reached(runId, 7);
  await ended(runId);
  // The end of the warm start is announced and kept, whichever steps are.
  const checkpoints = (await world.events(runId, 'checkpoint')).map(({ step, warmStart, last }) => ({
    ...{ step, warmStart, last },
  }));
  expect(checkpoints).toEqual([
    { step: 0, warmStart: 'running' },
    { step: 4, warmStart: 'running' },
    { step: 6, warmStart: 'done' },
    { step: 7, last: true },
  ]);
  const step = (await world.events(runId, 'train_step')).at(-1)!;
  expect(step.metrics).toMatchObject({ 'optim/lr': 1e-3, 'progress/done_frac': 1 });
  expect(step.metrics['optim/kl_sample_train_v2']).toBeLessThan(1e-4);
});

it('is followed by the whole schedule, and by the steps in which the critic alone is trained', async () => {
  const runId = await world.startRun({
    ...warmStart({ epochs: 1, steps: 2 }),
    ...{ 'training.max_steps': 2, 'training.groups_per_batch': 1 },
    ...WITH_CRITIC,
    'training.schedule': 'linear',
    'critic.warmup_steps': 1,
  });
  for (const group of [0, 1]) {
    await world.requested(runId, group + 1);
    await world.playGroup(runId, group, [1, 0]);
    await world.reached(runId, 3 + group);
  }
  const metrics = (await world.events(runId, 'train_step')).slice(2).map((step) => step.metrics);
  expect(metrics.map((each) => each['optim/lr'])).toEqual([1e-3, 5e-4]);
  expect(metrics.map((each) => each['optim/substeps'])).toEqual([0, 1]);
  await ended(runId);
});

it('learns nothing from a task that the run evaluates', async () => {
  const [first, ...others] = episodes;
  const evaluated = structuredClone(first);
  evaluated.request.task = { id: 'custom', description: 'Turn on Wi-Fi' };
  await store([evaluated, ...others]);
  const tasks = { source_type: 'custom', custom_tasks: ['Turn on Wi-Fi'] };
  const runId = await world.startRun({ ...warmStart({ epochs: 1, only: true }), eval_tasks: tasks });
  await ended(runId);
  await store(episodes);
  const [warning] = await world.events(runId, 'warning');
  expect(warning).toMatchObject({ code: 'stored_episodes' });
  expect(warning.message).toMatch(/nothing is learnt from 1 stored episodes of tasks that the run evaluates/);
  const trained = (await world.events(runId, 'train_step')).flatMap(({ rolloutIds }) => rolloutIds);
  expect(trained).toHaveLength(3);
  expect(trained).not.toContain(first.request.rolloutId);
});

it('prefers the better episode of each start to the worse one, and may end the run', async () => {
  const options = warmStart({ loss: { name: 'dpo', beta: 0.5 }, epochs: 4, only: true });
  const runId = await world.startRun({ ...options, 'training.max_steps': 5 });
  await ended(runId);
  const steps = await world.events(runId, 'train_step');
  expect(steps).toHaveLength(8);
  expect(steps[0].metrics['optim/margin']).toBeCloseTo(0, 5);
  // Every pair has the same weight: −log σ(0).
  expect(steps[0].metrics['optim/loss']).toBeCloseTo(Math.log(2), 4);
  expect(steps[7].metrics['optim/margin']).toBeGreaterThan(0.1);
  expect(steps[7].metrics['optim/accuracy']).toBe(1);
  expect(await world.bus.runs.policy(runId)).toMatchObject({ version: 8, groupsRequested: 0 });
});

const DETERMINISTIC: Changes = {
  ...{ 'training.deterministic': true, 'training.save_every': 1 },
  'model.lora': { rank: 2, alpha: 4, targets: 'attention', dropout: 0.2 },
};

/** Starts a run, and stops its learner as soon as these steps are reached; another one resumes. */
async function startTorn(options: Changes, stops: readonly number[]): Promise<string> {
  const runId = await world.startRun(options);
  for (const stop of stops) {
    const isThere = async () => ((await world.version(runId)) ?? 0) >= stop;
    await eventually(`step ${stop}`, isThere, 60_000);
    await world.quit();
    await world.begin(runId, world.optionsWith(options));
  }
  return runId;
}

it('gives the same weights step by step, wherever its process ended', async () => {
  const options = { ...DETERMINISTIC, ...warmStart(), 'training.max_steps': 1 };
  const train = async (stops: readonly number[]): Promise<string[]> => {
    const runId = await startTorn(options, stops);
    await world.requested(runId, 2);
    const answers = async () => (await world.act(runId, 'ready/0')).ok;
    await eventually('an answer', answers, 60_000);
    await world.playGroup(runId, 0, [1, 0]);
    await world.playGroup(runId, 1, [0, 1]);
    await ended(runId);
    const found = await digests(runId);
    await world.quit();
    return found;
  };
  const calm = await train([]);
  expect(new Set(calm).size).toBe(8);
  // In the middle, and between the warm start and the next step.
  expect(await train([2, 6])).toEqual(calm);
}, 180_000);

it('gives the same weights over pairs, too', async () => {
  const pairs = warmStart({ loss: { name: 'dpo', beta: 0.5 }, epochs: 1, steps: 4, only: true });
  const train = async (stops: readonly number[]): Promise<string[]> => {
    const runId = await startTorn({ ...DETERMINISTIC, ...pairs }, stops);
    await ended(runId);
    const found = await digests(runId);
    await world.quit();
    return found;
  };
  const calm = await train([]);
  expect(new Set(calm).size).toBe(5);
  expect(await train([1, 3])).toEqual(calm);
}, 180_000);
