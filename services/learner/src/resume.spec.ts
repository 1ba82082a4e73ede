import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@ui-rl/testkit';
import { stepFolder } from '@ui-rl/contracts';
import { LearnerWorld } from '../test/learner-world';
import { WITH_CRITIC } from '../test/with-critic';

/** Exercises everything that a step depends on besides its batch: optimizer state, schedule, dropout seeds. */
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

type Changes = Partial<typeof OPTIONS.algorithm>;

/** The digests of the weights after each step, of all models. */
async function train(
  changes: Changes,
  interrupt: (runId: string, options: typeof OPTIONS, point: number) => Promise<void>,
): Promise<(string | undefined)[]> {
  const options = { ...OPTIONS, algorithm: { ...OPTIONS.algorithm, ...changes } };
  const runId = await world.startRun(options);
  for (let step = 0; step < OPTIONS.maxSteps; step += 1) {
    await world.playGroup(runId, 2 * step, [1, 0]);
    await interrupt(runId, options, 2 * step);
    await world.playGroup(runId, 2 * step + 1, [0, 1]);
    // Interrupts at the start of the step.
    await interrupt(runId, options, 2 * step + 1);
    await world.reached(runId, step + 1);
  }
  const ended = async () => (await world.bus.runs.state(runId))?.phase === 'final_eval';
  await eventually('the end of training', ended);
  const checkpoints = await world.events(runId, 'checkpoint');
  await world.quit();
  const digests = checkpoints.map(({ adapterDigest }) => adapterDigest);
  return 'critic' in changes
    ? [...digests, ...checkpoints.map(({ step }) => criticDigest(runId, step))]
    : digests;
}

function criticDigest(runId: string, step: number): string {
  const file = join(world.runsDir, runId, 'checkpoints', stepFolder(step), 'critic', 'engine.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { digest: string }).digest;
}

it.each<[string, Changes]>([
  ['a policy', {}],
  ['a policy and its critic', WITH_CRITIC],
])(
  'gives the same weights step by step, wherever its process ended: %s',
  async (_, changes) => {
    const calm = await train(changes, () => Promise.resolve());
    expect(new Set(calm).size).toBe((OPTIONS.maxSteps + 1) * ('critic' in changes ? 2 : 1));
    const ends: number[] = [];
    const torn = await train(changes, async (runId, options, point) => {
      if (Math.random() < 0.5) return;
      const ms = Math.random() * 200;
      await delay(ms);
      ends.push(point + ms / 1000);
      await world.quit();
      await world.begin(runId, world.optionsWith(options));
    });
    expect({ ends, digests: torn }).toEqual({ ends, digests: calm });
  },
  120_000,
);
