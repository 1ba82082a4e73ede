import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Turn } from '@ui-rl/contracts';
import { loadComponents, type ComponentRegistry, type Engine } from '@ui-rl/plugin-kit';
import { groupOf, turnOf } from '../../test/groups';
import { type Changes, optionsWith, WITH_CRITIC } from '../../test/learning-options';
import { RunModels } from '../checkpoints/run-models';
import type { Group } from '../episodes/groups';
import { makeAlgorithm, type Algorithm } from './algorithm';
import { BatchTrainer } from './batch-trainer';
import { valueMetrics } from './critic-trainer';

const model = join(__dirname, '../../../../test/golden/fixtures/qwen3-vl-a/model');
const lora = { rank: 2, alpha: 4, targets: 'attention', dropout: 0, vision: false, rslora: false };

let components: ComponentRegistry;
let engine: Engine;
beforeAll(async () => {
  components = await loadComponents({ packages: [] });
});
beforeEach(async () => {
  engine = await components.create(
    'engine',
    { name: 'local', device: 'cpu', threads: 1 },
    {
      modelDir: model,
      cacheDir: tmpdir(),
      models: [
        { name: 'policy', role: 'policy', trainable: { mode: 'lora', lora } },
        { name: 'critic', role: 'critic', trainable: { mode: 'lora', lora } },
      ],
      maxRows: 4,
      maxSequence: 64,
      deterministic: true,
      seed: 1,
      endTokenIds: [],
      componentFiles: [],
      environment: {},
      fetchImage: () => Promise.resolve(null),
      log: () => undefined,
      onProgress: () => undefined,
    },
  );
});
afterEach(() => engine.stop());

function algorithmWith(changes: Changes = {}): Algorithm {
  const options = { ...WITH_CRITIC, 'training.learning_rate': 2e-3, ...changes };
  return makeAlgorithm(optionsWith(components, options), components);
}

/** The same episodes are trained on repeatedly. */
const ANY_AGE = { maxStepsOffPolicy: 100 };

function trainerWith(changes?: Changes): BatchTrainer {
  const context = { imageTokenId: -1, imagesOfPrompt: () => Promise.resolve([]) };
  return new BatchTrainer(engine, algorithmWith(changes), context);
}

async function play(prompt: number[], seed: number): Promise<Turn> {
  const { tokens, logprobs } = await engine.sample({
    model: 'policy',
    prompt: { chunks: [{ type: 'text', tokens: prompt }] },
    maxTokens: 4,
    temperature: 1,
    topP: 1,
    seed,
  });
  return turnOf(0, { promptTokenIds: prompt, promptImages: [], imageTokens: 0, tokenIds: tokens, logprobs });
}

/**
 * Two tasks, distinguished by their prompts: one always succeeds, the other never does. All rewards of a group are
 * equal.
 */
async function groups(): Promise<Group[]> {
  const episodes = (prompt: number[], reward: number, seed: number) =>
    Promise.all(
      [0, 1].map(async (member) => ({
        reward,
        turns: [await play(prompt, seed + member), await play([...prompt, 9], seed + 10 + member)],
      })),
    );
  return [groupOf(0, await episodes([5, 6, 7], 1, 1)), groupOf(1, await episodes([30, 31], 0, 3))];
}

it('learns what states are worth, which leaves ever less to the advantages', async () => {
  const batch = await groups();
  const trainer = trainerWith({ 'algorithm.advantage': { name: 'gae', gamma: 1, gae_lambda: 1 } });
  const steps: Record<string, number>[] = [];
  for (let step = 0; step < 15; step += 1)
    steps.push((await trainer.train(batch, step, 'none', ANY_AGE)).metrics);
  const [first, last] = [steps[0], steps.at(-1)!];
  expect(first).toMatchObject({ 'critic/value_mean': 0, 'critic/explained_variance': 0, 'critic/lr': 1e-2 });
  expect(first['critic/loss']).toBeCloseTo(first['critic/return_mean'] / 2, 5);
  expect(first['critic/tokens']).toBe(batch.flatMap(tokensOf).length);
  expect(last['critic/explained_variance']).toBeGreaterThan(0.8);
  expect(last['critic/loss']).toBeLessThan(first['critic/loss'] / 4);
  // On-policy with a ratio of 1, the loss of the first step is minus the mean advantage, which is the mean return.
  expect(first['optim/loss']).toBeCloseTo(-first['critic/return_mean'], 4);
});

function tokensOf({ trajectories }: Group): number[] {
  return trajectories.flatMap(({ turns }) => turns.flatMap(({ tokenIds }) => tokenIds));
}

it('is warmed up alone', async () => {
  const batch = await groups();
  const trainer = trainerWith({ 'critic.warmup_steps': 1, 'training.num_substeps': 2 });
  const before = await engine.forward({ model: 'critic', data: [score(batch)] });
  const warm = await trainer.train(batch, 0, 'unchanged', ANY_AGE);
  expect(warm).toMatchObject({ digest: 'unchanged', tokens: 0, metrics: { 'optim/substeps': 0 } });
  expect(warm.metrics['critic/grad_norm']).toBeGreaterThan(0);
  expect(await engine.forward({ model: 'critic', data: [score(batch)] })).not.toEqual(before);
  const second = await trainer.train(batch, 1, 'unchanged', ANY_AGE);
  expect(second.digest).toMatch(/^[0-9a-f]{64}$/);
  expect(second.metrics['optim/substeps']).toBe(2);
});

it('takes its part of the time of a step, as do the passes that only look', async () => {
  const batch = await groups();
  const passes = timePasses();
  const { metrics } = await trainerWith({ 'algorithm.compute_post_kl': true }).train(
    batch,
    0,
    'none',
    ANY_AGE,
  );
  expect(metrics['time/train']).toBeGreaterThanOrEqual(passes.seconds);
});

/** From now on, measures the total time of passes and optimizer steps of all models. */
function timePasses(): { seconds: number } {
  const spent = { seconds: 0 };
  for (const name of ['forward', 'forwardBackward', 'optimStep'] as const) {
    const call = engine[name].bind(engine) as (request: unknown) => Promise<never>;
    engine[name] = async (request: unknown) => {
      const began = performance.now();
      const result = await call(request);
      spent.seconds += (performance.now() - began) / 1000;
      return result;
    };
  }
  return spent;
}

function score([{ trajectories }]: Group[]): Parameters<Engine['forward']>[0]['data'][number] {
  const { promptTokenIds } = trajectories[0].turns[0];
  return {
    modelInput: { chunks: [{ type: 'text', tokens: promptTokenIds }] },
    targetTokens: promptTokenIds,
    weights: promptTokenIds.map(() => 1),
  };
}

it('is saved, restored and begun from together with the policy, or new where a checkpoint has none', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'models-'));
  try {
    const batch = await groups();
    const trainer = trainerWith();
    await trainer.train(batch, 0, 'none', ANY_AGE);
    const models = new RunModels(engine, true);
    const at = join(dir, '000001');
    await models.save(at, { 'state.json': '{}' });
    const values = await engine.forward({ model: 'critic', data: [score(batch)] });
    const next = await trainer.train(batch, 1, 'none', ANY_AGE);
    const later = await engine.forward({ model: 'critic', data: [score(batch)] });
    expect(later).not.toEqual(values);
    await models.restore(at, { optimizer: true });
    expect(await engine.forward({ model: 'critic', data: [score(batch)] })).toEqual(values);
    expect((await trainer.train(batch, 1, 'none', ANY_AGE)).digest).toBe(next.digest);
    expect(await engine.forward({ model: 'critic', data: [score(batch)] })).toEqual(later);
    expect(await models.begin(at, { optimizer: false })).toEqual({ newCritic: false });
    expect(await engine.forward({ model: 'critic', data: [score(batch)] })).toEqual(values);
    await rm(join(at, 'critic'), { recursive: true });
    expect(await models.begin(at, { optimizer: false })).toEqual({ newCritic: true });
    await expect(models.restore(at, { optimizer: true })).rejects.toMatchObject({
      message: expect.stringContaining('critic'),
    });
  } finally {
    await rm(dir, { recursive: true });
  }
});

it('is absent where nothing reads values', () => {
  const grpo = optionsWith(components, { 'algorithm.advantage': 'grpo' });
  expect(makeAlgorithm(grpo, components).critic).toBeUndefined();
  expect(algorithmWith().critic?.lossComponent.name).toBe('value');
});

describe('explained variance', () => {
  const metricsOf = (values: number[], returns: number[]): number | undefined => {
    const turn = turnOf(values.length);
    return valueMetrics(
      new Map([[turn, Float32Array.from(values)]]),
      new Map([[turn, Float32Array.from(returns)]]),
    )['critic/explained_variance'];
  };

  it('is 1 for the returns themselves, 0 for one number for all, less for what is worse', () => {
    expect(metricsOf([1, 2, 4], [1, 2, 4])).toBe(1);
    expect(metricsOf([7, 7, 7], [1, 2, 4])).toBe(0);
    // Errors −1, 1 of returns 0, 1: variance 1 of 0.25.
    expect(metricsOf([1, 0], [0, 1])).toBeCloseTo(-3, 12);
  });

  it('is absent where all returns are the same', () => {
    expect(metricsOf([1, 2], [3, 3])).toBeUndefined();
  });
});
