import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@ui-rl/testkit';
import { LearnerWorld } from '../test/learner-world';

/** Everything that a step depends on besides its batch: the optimizer's state, the schedule, the seeds of dropout. */
const OPTIONS = {
  deterministic: true,
  groupsPerBatch: 2,
  maxSteps: 4,
  keepEvery: [1],
  algorithm: {
    advantage: { name: 'grpo' },
    loss: { name: 'ppo' },
    regularizers: [],
    klPenaltyCoef: 0,
    computePostKl: false,
    correction: { name: 'none' },
    optimizer: { name: 'adamw' },
    schedule: { name: 'linear' },
    aggregation: 'token-mean' as const,
    learningRate: 1e-2,
    maxGradNorm: 1,
    substeps: 2,
    minibatches: 1,
  },
  trainable: {
    mode: 'lora' as const,
    lora: { rank: 2, alpha: 4, targets: 'attention', dropout: 0.2, vision: false, rslora: false },
  },
};

let world: LearnerWorld;

beforeAll(async () => {
  world = await LearnerWorld.open();
});
afterEach(() => world.quit());
afterAll(() => world.close());

/** The digest of the weights after each step. */
async function train(
  interrupt: (runId: string, point: number) => Promise<void>,
): Promise<(string | undefined)[]> {
  const runId = await world.startRun(OPTIONS);
  for (let step = 0; step < OPTIONS.maxSteps; step += 1) {
    await world.playGroup(runId, 2 * step, [1, 0]);
    await interrupt(runId, 2 * step);
    await world.playGroup(runId, 2 * step + 1, [0, 1]);
    // The step begins now.
    await interrupt(runId, 2 * step + 1);
    await world.reached(runId, step + 1);
  }
  const ended = async () => (await world.bus.runs.state(runId))?.phase === 'final_eval';
  await eventually('the end of training', ended);
  const checkpoints = await world.events(runId, 'checkpoint');
  await world.quit();
  return checkpoints.map(({ adapterDigest }) => adapterDigest);
}

it('gives the same weights step by step, wherever its process ended', async () => {
  const calm = await train(() => Promise.resolve());
  expect(new Set(calm).size).toBe(OPTIONS.maxSteps + 1);
  const ends: number[] = [];
  const torn = await train(async (runId, point) => {
    if (Math.random() < 0.5) return;
    const ms = Math.random() * 200;
    await delay(ms);
    ends.push(point + ms / 1000);
    await world.quit();
    await world.begin(runId, world.optionsWith(OPTIONS));
  });
  expect({ ends, digests: torn }).toEqual({ ends, digests: calm });
}, 120_000);
