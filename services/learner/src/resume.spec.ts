import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@ui-rl/testkit';
import { stepFolder } from '@ui-rl/contracts';
import { LearnerWorld, type Changes } from '../test/learner-world';
import { WITH_CRITIC } from '../test/learning-options';

/** Exercises everything that a step depends on besides its batch: optimizer state, schedule, dropout seeds. */
const STEPS = 4;
const OPTIONS: Changes = {
  'training.deterministic': true,
  'training.groups_per_batch': 2,
  'training.max_steps': STEPS,
  'training.save_every': 1,
  'training.schedule': 'linear',
  'training.learning_rate': 1e-2,
  'training.num_substeps': 2,
  'model.lora': { rank: 2, alpha: 4, targets: 'attention', dropout: 0.2 },
};

let world: LearnerWorld;

beforeAll(async () => {
  world = await LearnerWorld.open();
});
afterEach(() => world.quit());
afterAll(() => world.close());

/** The digests of the weights after each step, of all models. */
async function train(
  changes: Changes,
  interrupt: (runId: string, options: Changes, point: number) => Promise<void>,
): Promise<(string | undefined)[]> {
  const options = { ...OPTIONS, ...changes };
  const runId = await world.startRun(options);
  for (let step = 0; step < STEPS; step += 1) {
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
  return 'critic.loss' in changes
    ? [...digests, ...checkpoints.map(({ step }) => criticDigest(runId, step))]
    : digests;
}

function criticDigest(runId: string, step: number): string {
  const file = join(world.runsDir, runId, 'checkpoints', stepFolder(step), 'critic', 'engine.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { digest: string }).digest;
}

const TEACHER_CHANGES: Changes = {
  'algorithm.advantage': { name: 'distillation', rewards: true },
  'algorithm.loss': 'importance_sampling',
  'teacher.name': 'fixture',
};

it.each<[string, Changes]>([
  ['a policy', {}],
  ['a policy and its critic', WITH_CRITIC],
  ['a policy with a teacher', TEACHER_CHANGES],
])(
  'gives the same weights step by step, wherever its process ended: %s',
  async (_, changes) => {
    const calm = await train(changes, () => Promise.resolve());
    expect(new Set(calm).size).toBe((STEPS + 1) * ('critic.loss' in changes ? 2 : 1));
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
  300_000,
);
