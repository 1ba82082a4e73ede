import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, makeTask, makeTrajectory } from '@ui-rl/testkit';
import { LearnerWorld, type Changes } from '../../../test/learner-world';
import { filesOfCarried, readCarried } from './kept-episodes';

describe('kept episodes of an estimator', () => {
  let dir: string;
  beforeAll(async () => (dir = await mkdtemp(join(tmpdir(), 'carried-'))));
  afterAll(() => rm(dir, { recursive: true }));

  it('is read as it was written; nothing where it is nothing', async () => {
    expect(filesOfCarried({ kept: [] })).toEqual({});
    expect(await readCarried(dir)).toEqual({ kept: [] });
    const carried = {
      memory: { tasks: [['a', 1, 2]] },
      kept: [makeTrajectory(), makeTrajectory({ reward: 0.1 })],
    };
    for (const [name, text] of Object.entries(filesOfCarried(carried)))
      await writeFile(join(dir, name), text);
    expect(JSON.stringify(await readCarried(dir))).toBe(JSON.stringify(carried));
  });

  it('names the line that is not what it should be', async () => {
    await writeFile(join(dir, 'kept-episodes.jsonl'), '{"trajectory": {}}\n');
    await expect(readCarried(dir)).rejects.toThrow(/kept-episodes.jsonl, line 1: trajectory\.request/);
  });
});

describe('a run with a buffer of successes', () => {
  let world: LearnerWorld;
  beforeAll(async () => (world = await LearnerWorld.open()));
  afterEach(() => world.quit());
  afterAll(() => world.close());

  const tasks = ['a', 'b', 'c'].map((id) => makeTask({ id, description: `Open ${id}` }));

  function options(): Changes {
    const advantage = {
      ...{ name: 'rejection_sampling', reward_threshold: 0, best_of_group: false },
      ...{ weight_by_success_rate: true, buffer_size: 2, buffer_episodes: 1 },
    };
    return {
      ...{
        'training.deterministic': true,
        'training.groups_per_batch': 1,
        'training.max_steps': 4,
        'training.save_every': 1,
      },
      'algorithm.advantage': advantage,
      'algorithm.loss': 'cross_entropy',
      'training.learning_rate': 1e-2,
    };
  }

  /** Successes of two tasks, then only failures: the training data are the kept episodes. */
  async function train(stopsAfter: readonly number[]) {
    const runId = await world.startRun(options());
    const rewards: [number, number][] = [
      [1, 0],
      [1, 1],
      [0, 0],
      [0, 0],
    ];
    for (const [step, pair] of rewards.entries()) {
      await world.playGroup(runId, step, pair, { task: tasks[Math.min(step, 2)] });
      await world.reached(runId, step + 1);
      if (!stopsAfter.includes(step + 1)) continue;
      await world.quit();
      await world.begin(runId, world.optionsWith(options()));
      await eventually('an answer', async () => (await world.act(runId, `ready${step}/0`)).ok, 60_000);
    }
    await eventually(
      'the end',
      async () => (await world.bus.runs.state(runId))?.phase === 'final_eval',
      60_000,
    );
    const digests = (await world.events(runId, 'checkpoint')).map(({ adapterDigest }) => adapterDigest);
    const steps = await world.events(runId, 'train_step');
    await world.quit();
    return { digests, metrics: steps.map(({ metrics }) => metrics) };
  }

  it('trains kept successes again, with the same weights wherever its process ended', async () => {
    const calm = await train([]);
    expect(new Set(calm.digests).size).toBe(5);
    const said = (name: string) => calm.metrics.map((metrics) => metrics[`advantage/${name}`]);
    expect(said('chosen')).toEqual([1, 2, 0, 0]);
    expect(said('replayed')).toEqual([0, 1, 1, 1]);
    expect(said('buffered')).toEqual([1, 2, 2, 2]);
    // The current sampler has no log-probabilities of a kept episode.
    expect(calm.metrics[1]['optim/kl_sample_train_v2']).toBeLessThan(1e-4);
    expect(calm.metrics[3]['optim/samples']).toBe(1);
    expect(calm.metrics[3]['optim/kl_sample_train_v2']).toBeUndefined();
    expect((await train([1, 2, 3])).digests).toEqual(calm.digests);
  }, 180_000);
});
