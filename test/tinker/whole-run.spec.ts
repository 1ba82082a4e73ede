import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveTinker, type ServedTinker } from '@ui-rl/api';
import { parseRunFile, type RunFile } from '@ui-rl/settings';
import { eventually } from '@ui-rl/testkit';
import { FIXTURE, LearnerWorld } from '../../services/learner/test/learner-world';

const STEPS = 4;
/** The newest checkpoints of a run, and the first one. */
const KEPT = 4;
const MAX_SEQUENCE = 128;
const dir = mkdtempSync(join(tmpdir(), 'tinker-run-'));

let world: LearnerWorld;
let server: ServedTinker;

beforeAll(async () => {
  [world, server] = await Promise.all([
    LearnerWorld.open(),
    serveTinker({
      model: join(FIXTURE, 'model'),
      dir,
      device: 'cpu',
      threads: 1,
      rows: 4,
      maxSequence: MAX_SEQUENCE + 1,
      deterministic: true,
    }),
  ]);
});
afterEach(() => world.quit());
afterAll(async () => {
  await server?.stop();
  await world?.close();
  rmSync(dir, { recursive: true, force: true });
});

/** The learner's options for a run file. */
function optionsOf(engine: object, alpha = 32): RunFile {
  const lora = { rank: 2, alpha, targets: 'attention' };
  return parseRunFile(
    {
      model: {
        name: 'fixture',
        action_format: 'json',
        max_sequence: MAX_SEQUENCE,
        lora,
      },
      engine,
      tasks: 'demo_training',
      rollout: { group_size: 2, max_tokens: 4, concurrency: 4, max_attempts: 2 },
      algorithm: { advantage: 'gae', loss: 'ppo' },
      critic: { learning_rate: 1e-2, lora },
      training: {
        ...{ deterministic: true, seed: 1, groups_per_batch: 2, max_steps: STEPS },
        ...{ learning_rate: 1e-3, save_every: 100, eval_every: 0 },
      },
    },
    world.components,
  );
}

/** Digest of the current sampling weights. */
async function digestNow(runId: string): Promise<string | undefined> {
  return (await world.bus.runs.policy(runId))?.adapterDigest;
}

/** The digests of the weights before the first step, and after each. */
async function train(options: RunFile, restartAt?: number): Promise<[runId: string, (string | undefined)[]]> {
  const runId = await world.startRun(options);
  const digests = [await digestNow(runId)];
  for (let step = 0; step < STEPS; step += 1) {
    if (step === restartAt) {
      await world.quit();
      await world.begin(runId, options);
    }
    await world.playGroup(runId, 2 * step, [1, 0]);
    await world.playGroup(runId, 2 * step + 1, [0, 1]);
    await world.reached(runId, step + 1);
    digests.push(await digestNow(runId));
  }
  await eventually('the end', async () => (await world.bus.runs.state(runId))?.phase === 'final_eval');
  await world.quit();
  return [runId, digests];
}

interface Listed {
  training_runs: { training_run_id: string }[];
  checkpoints: { tinker_path: string }[];
}

async function list(path: string): Promise<Listed> {
  return (await fetch(`${server.url}/api/v1/${path}`)).json() as Promise<Listed>;
}

/** Addresses of all weights that the server stores. */
async function kept(): Promise<string[]> {
  const { training_runs } = await list('training_runs');
  const lists = await Promise.all(
    training_runs.map(({ training_run_id }) => list(`training_runs/${training_run_id}/checkpoints`)),
  );
  return lists.flatMap(({ checkpoints }) => checkpoints.map(({ tinker_path }) => tinker_path)).toSorted();
}

it('a run with a critic through Tinker has the weights of one on the engine in process, step by step, with a restart in between, and leaves nothing else', async () => {
  const [, expected] = await train(optionsOf({ name: 'local', device: 'cpu', threads: 1 }));
  expect(new Set(expected).size).toBe(STEPS + 1);
  const [runId, found] = await train(optionsOf({ name: 'tinker', base_url: server.url }), 2);
  expect(found).toEqual(expected);

  const checkpoints = join(world.runsDir, runId, 'checkpoints');
  const addressesIn = (...path: string[]): string[] =>
    readFileSync(join(checkpoints, ...path, 'tinker.json'), 'utf8').match(/tinker:[^"]+/g) ?? [];
  const steps = readdirSync(checkpoints);
  expect(steps).toHaveLength(KEPT);
  const needed = steps.flatMap((step) => [...addressesIn(step), ...addressesIn(step, 'critic')]).toSorted();
  expect(needed).toHaveLength(3 * KEPT);
  await eventually(
    'what no checkpoint needs to be gone',
    async () => (await kept()).join() === needed.join(),
  );
  // Weights of a policy and a critic at the start of the run, and those of the resumed learner.
  expect(new Set(needed.map((address) => address.split('/')[2])).size).toBe(4);
}, 120_000);

it('a run that the service cannot train is refused by its run file', () => {
  expect(() => optionsOf({ name: 'tinker', base_url: server.url }, 16)).toThrow('model.lora.alpha is 16');
});
