import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveTinker, type ServedTinker } from '@ui-rl/api';
import { datumOf, LocalEngine } from '@ui-rl/engine';
import { loadPromptFolder, makeRenderer, promptChunks, type PromptFolder } from '@ui-rl/models';
import {
  ComponentRegistry,
  type Datum,
  type Engine,
  type EngineContext,
  type ModelInput,
  type SampleResult,
  type TrainedModel,
} from '@ui-rl/plugin-kit';
import { components as algorithms } from '@ui-rl/algorithms';
import { components } from '../../plugins/engine-tinker/src';
import { FlakyProxy } from './flaky-proxy';

const root = join(__dirname, '../..');
const modelDir = join(root, 'deploy/local/model');
const scratch = mkdtempSync(join(tmpdir(), 'engine-tinker-'));
const png = readFileSync(join(root, 'test/golden/fixtures/qwen3-vl-a/images/0.png'));
const sha256 = createHash('sha256').update(png).digest('hex');
const KEY = 'tml-sixteen-letters';

const lora = { rank: 4, alpha: 32, targets: 'all-linear', dropout: 0, vision: false, rslora: false };
const policy: TrainedModel = { name: 'policy', role: 'policy', trainable: { mode: 'lora', lora } };
const critic: TrainedModel = { name: 'critic', role: 'critic', trainable: policy.trainable };
const both = [policy, critic];
const same = { threads: 2, deterministic: true } as const;
const MAX_SEQUENCE = 400;
const STEPS = 3;

let server: ServedTinker;
let proxy: FlakyProxy;
let folder: PromptFolder;
const engines: Engine[] = [];

async function serve(): Promise<ServedTinker> {
  return serveTinker({
    ...same,
    model: 'small',
    dir: scratch,
    device: 'cpu',
    rows: 4,
    maxSequence: MAX_SEQUENCE + 1,
    keys: [KEY],
  });
}

beforeAll(async () => {
  [server, folder] = await Promise.all([serve(), loadPromptFolder(modelDir)]);
  proxy = await FlakyProxy.start(() => server.url);
});
afterAll(async () => {
  for (const engine of engines) await engine.stop();
  await proxy?.stop();
  await server?.stop();
  rmSync(scratch, { recursive: true, force: true });
});

const context: EngineContext = {
  modelDir,
  cacheDir: tmpdir(),
  models: [policy],
  maxRows: 4,
  maxSequence: MAX_SEQUENCE,
  deterministic: true,
  seed: 7,
  endTokenIds: [],
  componentFiles: [],
  environment: {},
  fetchImage: async (asked) => (asked === sha256 ? png : null),
  log: () => undefined,
  onProgress: () => undefined,
};

const registry = new ComponentRegistry(
  components.map((component) => ({ component, file: 'plugins/engine-tinker' })),
);

/** Our client with our server, through a proxy that drops the first answer to every request. */
async function throughTinker(changes: Partial<EngineContext> = {}, options: object = {}): Promise<Engine> {
  const environment = { TINKER_BASE_URL: proxy.url, TINKER_API_KEY: KEY };
  const engine = await registry.create(
    'engine',
    { name: 'tinker', retry_ms: 10_000, ...options },
    { ...context, environment, ...changes },
  );
  engines.push(engine);
  return engine;
}

async function inProcess(models = context.models): Promise<Engine> {
  const { maxRows, maxSequence, seed } = context;
  const engine = await LocalEngine.start({
    ...same,
    modelDir,
    models,
    maxRows,
    maxSequence,
    seed,
    fetchImage: (asked) => context.fetchImage(asked),
    device: 'cpu',
  });
  engines.push(engine);
  return engine;
}

/** A screenshot and a question. */
async function prompt(
  question: string,
): Promise<{ tokenIds: number[]; images: { sha256: string; tokens: number }[] }> {
  const content = [{ type: 'image' as const }, { type: 'text' as const, text: question }];
  return makeRenderer(folder).renderPngs([{ role: 'user', content }], [png]);
}

function inputOf({ tokenIds, images }: Awaited<ReturnType<typeof prompt>>): ModelInput {
  return { chunks: promptChunks(tokenIds, images, folder.family.shape.imageTokenId) };
}

/** Sampled answers as data with advantages of both signs, and weights that are inexact in floating point. */
function dataOf(prompts: Awaited<ReturnType<typeof prompt>>[], sampled: readonly SampleResult[]): Datum[] {
  return prompts.map(({ tokenIds, images }, index) => {
    const { tokens, logprobs } = sampled[index];
    const none = tokenIds.map(() => 0);
    return datumOf(
      { tokenIds: [...tokenIds, ...tokens], images, mask: [...none, ...tokens.map(() => 1)] },
      {
        imageTokenId: folder.family.shape.imageTokenId,
        weight: 1 / 3,
        temperature: 1,
        lossInputs: {
          old_logprobs: [...none, ...logprobs],
          advantages: [...none, ...tokens.map((_, place) => (index % 2 === 0 ? 0.7 : -1.3) + place / 10)],
        },
      },
    );
  });
}

const gae = new ComponentRegistry(
  algorithms.map((component) => ({ component, file: 'libs/algorithms' })),
).create('advantage', { name: 'gae' }, {});

/** The same data with a critic's advantages, returns and values. */
function estimated(
  data: readonly Datum[],
  sampled: readonly SampleResult[],
  values: readonly Float32Array[],
): Datum[] {
  return data.map((datum, index) => {
    const own = Array.from(datum.weights, (weight, place) => (weight === 0 ? [] : [place])).flat();
    const { tokens, logprobs } = sampled[index];
    const turn = {
      tokens,
      logprobs: Float32Array.from(logprobs),
      reward: index === 0 ? 1 : -0.5,
      inputs: { values: Float32Array.from(own, (place) => values[index][place]) },
    };
    const episodes = [{ rolloutId: String(index), reward: turn.reward, turns: [turn] }];
    const { advantages, returns } = gae.estimate([{ episodes }] as never, undefined, []);
    const spread = (numbers: ArrayLike<number>): Float32Array => {
      const all = new Float32Array(datum.weights.length);
      own.forEach((place, token) => (all[place] = numbers[token]));
      return all;
    };
    const lossInputs = {
      ...datum.lossInputs,
      advantages: spread(advantages[0][0]![0]),
      returns: spread(returns![0][0]![0]),
      values: spread(turn.inputs.values),
    };
    return { ...datum, lossInputs };
  });
}

const loss = { name: 'ppo', clip_low: 0.2, clip_high: 0.28 };
const optimizer = { name: 'adamw', beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weight_decay: 0.01 };

/** Other positions in the same batch may change the rounding of sums. */
function expectClose(found: Float32Array, expected: Float32Array): void {
  expect(found).toHaveLength(expected.length);
  expect(found.map((each) => Number(Number.isNaN(each)))).toEqual(
    expected.map((each) => Number(Number.isNaN(each))),
  );
  found.forEach((each, place) => expect(each || 0).toBeCloseTo(expected[place] || 0, 4));
}

/** Of the log-probabilities of trained tokens. */
function largestDifference(some: Float32Array, others: Float32Array): number {
  return Math.max(...some.map((each, place) => Math.abs(each - others[place]) || 0));
}

interface Recorded {
  sampled: SampleResult[];
  /** The critic's values before the step and during it. */
  values: (Float32Array[] | undefined)[];
  logprobs: Float32Array[];
  metrics: Record<string, number>[];
  gradNorms: number[];
  digests: string[];
}

/** PPO with a critic. */
async function oneStep(engine: Engine, step: number): Promise<Recorded> {
  const prompts = [await prompt('Open Settings'), await prompt('Count to 2')];
  const sampled: SampleResult[] = [];
  for (const [index, each] of prompts.entries()) {
    const request = { model: 'policy', prompt: inputOf(each), maxTokens: 5, temperature: 1, topP: 1 };
    const { tokens, logprobs, stopReason, digest } = await engine.sample({
      ...request,
      seed: 10 * step + index,
    });
    sampled.push({ tokens, logprobs, stopReason, digest });
  }
  const plain = dataOf(prompts, sampled);
  const said = await engine.forward({ model: 'critic', data: plain });
  const data = estimated(plain, sampled, said.values!);
  const stepped = (model: string) =>
    engine.optimStep({ model, optimizer, learningRate: 1e-3, maxGradNorm: 1 });
  const value = { name: 'value', value_clip: step === 1 ? 0 : 0.2 };
  const ofCritic = await engine.forwardBackward({ model: 'critic', data, loss: value });
  const criticNow = await stepped('critic');
  const { logprobs, metrics } = await engine.forwardBackward({ model: 'policy', data, loss });
  const now = await stepped('policy');
  return {
    sampled,
    values: [said.values, ofCritic.values],
    logprobs,
    metrics: [ofCritic.metrics, metrics],
    gradNorms: [criticNow, now].map((each) => each.metrics.grad_norm),
    digests: [criticNow, now].map(({ weights }) => weights.digest),
  };
}

it('trains as the engine in process does, bit by bit, though answers are lost and the server starts anew in between', async () => {
  const [local, tinker] = [await inProcess(both), await throughTinker({ models: both })];
  const expected: Recorded[] = [];
  for (let step = 0; step < STEPS; step += 1) expected.push(await oneStep(local, step));
  expect(new Set(expected.flatMap(({ digests }) => digests)).size).toBe(2 * STEPS);
  const valuesAt = (step: number) => Array.from(expected[step].values[0]![0]).filter((each) => each === each);
  expect(valuesAt(0).every((each) => each === 0)).toBe(true);
  expect(valuesAt(1).every((each) => each !== 0)).toBe(true);
  expect(await oneStep(tinker, 0)).toEqual(expected[0]);
  expect(await oneStep(tinker, 1)).toEqual(expected[1]);
  expect(proxy.lost).toEqual(expect.arrayContaining(['/api/v1/forward_backward', '/api/v1/optim_step']));

  // The run's reference weights, which are not the trained ones, by name and from their folder.
  const dir = join(scratch, 'checkpoint');
  const saved = await tinker.saveState({ model: 'policy', dir, files: { 'state.json': '{}' } });
  expect(saved).toEqual({ version: 2, digest: expected[1].digests[1] });
  const criticDir = join(dir, 'critic');
  const savedCritic = await tinker.saveState({ model: 'critic', dir: criticDir });
  expect(savedCritic).toEqual({ version: 2, digest: expected[1].digests[0] });
  expect(await tinker.saveWeightsForSampler({ model: 'policy', name: 'step-2', dir })).toEqual(saved);
  const prompts = [await prompt('Open Settings')];
  // Improbable tokens, whose log-probabilities change most.
  const data = dataOf(prompts, [
    { tokens: [10, 20, 30], logprobs: [-1, -1, -1], stopReason: 'stop', digest: '' },
  ]);
  const [ofBase] = (await tinker.forward({ model: 'base', data })).logprobs;
  expectClose(ofBase, (await local.forward({ model: 'base', data })).logprobs[0]);
  const [ofStep] = (await tinker.forward({ model: 'step-2', data })).logprobs;
  expectClose(ofStep, (await tinker.forward({ model: 'policy', data })).logprobs[0]);
  expect(largestDifference(ofStep, ofBase)).toBeGreaterThan(1e-3);

  await tinker.stop();
  await server.stop();
  server = await serve();
  const resumed = await throughTinker({ models: both });
  const load = (model: string, from: string) => resumed.loadState({ model, dir: from, optimizer: true });
  await expect(load('critic', dir)).rejects.toThrow(/holds a policy, but .* is a critic/);
  expect(await load('policy', dir)).toEqual(saved);
  expect(await load('critic', criticDir)).toEqual(savedCritic);
  expect(await oneStep(resumed, 2)).toEqual(expected[2]);
  // The trained model is unloaded first; the proxy drops the first reply to that.
  const unloaded = () => proxy.lost.filter((path) => path.endsWith('/unload_model')).length;
  const before = unloaded();
  expect(await load('policy', dir)).toEqual(saved);
  expect(await load('critic', criticDir)).toEqual(savedCritic);
  expect(unloaded()).toBe(before + 2);
  expect(await oneStep(resumed, 2)).toEqual(expected[2]);

  const request = { model: 'critic', prompt: inputOf(prompts[0]), maxTokens: 5, temperature: 1, topP: 1 };
  await expect(resumed.sample({ ...request, seed: 1 })).rejects.toThrow('gives values and no tokens');
  for (const from of [{}, { dir: criticDir }]) {
    const kept = resumed.saveWeightsForSampler({ model: 'critic', name: 'kept', ...from });
    await expect(kept).rejects.toThrow('gives values and no tokens');
  }
  const [datum] = data;
  const learn = (name: string) => resumed.forwardBackward({ model: 'critic', data: [datum], loss: { name } });
  await expect(learn('ppo')).rejects.toThrow('critic.loss ppo');
  expect((await resumed.info()).weights).toEqual({
    policy: { version: 3, digest: expected[2].digests[1] },
    critic: { version: 3, digest: expected[2].digests[0] },
  });
}, 180_000);

it('ends when the service no longer knows its session', async () => {
  const engine = await throughTinker();
  await server.stop();
  server = await serve();
  const failure = await oneStep(engine, 0).catch((error: Error) => error);
  expect(failure).toMatchObject({ category: 'worker' });
  expect((await engine.ended).message).toContain('404');
  await expect(engine.info()).rejects.toThrow('404');
}, 60_000);

it('ends the gradient of dppo where the engine in process does', async () => {
  const engines = [await inProcess(), await throughTinker()];
  const prompts = [await prompt('Open Settings')];
  const [datum] = dataOf(prompts, [
    { tokens: [10, 20, 30], logprobs: [-1, -1, -1], stopReason: 'stop', digest: '' },
  ]);
  const [now] = (await engines[0].forward({ model: 'policy', data: [datum] })).logprobs;
  const trained = Array.from(datum.weights, (weight, place) => (weight === 0 ? [] : [place])).flat();
  // The sampler found them more probable: by less than delta, by more, and by an amount that only a smaller delta
  // masks.
  const apart = [0.1, 0.3, 0.17];
  const sample_logprobs = Float32Array.from(datum.weights, (weight, place) =>
    weight === 0 ? 0 : Math.log(Math.exp(now[place]) + apart[trained.indexOf(place)]),
  );
  const advantages = Float32Array.from(datum.weights, (weight) => (weight === 0 ? 0 : -1));
  const data = [{ ...datum, lossInputs: { sample_logprobs, advantages } }];
  const maskedBy = async (delta: object): Promise<number[][]> =>
    Promise.all(
      engines.map(async (engine) => {
        const dppo = { name: 'dppo', divergence: 'tv', ...delta };
        const { metrics } = await engine.forwardBackward({ model: 'policy', data, loss: dppo });
        return [metrics['loss/masked'], metrics.loss];
      }),
    );
  for (const [delta, masked] of [
    [{}, 2 / 3],
    [{ delta_low: 0.2 }, 1 / 3],
  ] as const) {
    const [local, tinker] = await maskedBy(delta);
    expect(local[0]).toBeCloseTo(masked, 6);
    expect(tinker).toEqual(local);
  }
});

describe('missing features of the service are refused by name', () => {
  it('at the start', async () => {
    const start = (changes: Partial<EngineContext>, options: object = {}) => throughTinker(changes, options);
    const withLora = (change: object): Partial<EngineContext> => ({
      models: [{ ...policy, trainable: { mode: 'lora', lora: { ...lora, ...change } } }],
    });
    await expect(start(withLora({ alpha: 64 }))).rejects.toThrow('model.lora.alpha is 64');
    await expect(start(withLora({ vision: true }))).rejects.toThrow('model.lora.vision');
    await expect(start({ models: [{ ...policy, trainable: { mode: 'full' } }] })).rejects.toThrow(
      'model.use_lora',
    );
    const scaled = { mode: 'lora' as const, lora: { ...lora, alpha: 8 } };
    await expect(start({ models: [policy, { ...critic, trainable: scaled }] })).rejects.toThrow(
      'critic.lora.alpha is 8',
    );
    await expect(start({ maxSequence: 5000 })).rejects.toThrow('model.max_sequence is 5000');
    await expect(start({}, { base_model: 'Qwen/Qwen3-8B' })).rejects.toThrow('it offers small');
    await expect(start({ environment: {} })).rejects.toThrow('TINKER_BASE_URL');
    const elsewhere = { TINKER_BASE_URL: 'http://127.0.0.1:1', TINKER_API_KEY: KEY };
    // The key is for the machine's address, not for one in a run file.
    await expect(start({ environment: elsewhere }, { base_url: proxy.url })).rejects.toThrow(
      'No key was sent',
    );
    await expect(start({ environment: elsewhere }, { retry_ms: 0 })).rejects.toThrow('cannot be reached');
    const told: string[] = [];
    const log = (level: string, message: string) => void told.push(`${level} ${message}`);
    await expect(start({ environment: elsewhere, log }, { retry_ms: 4_000 })).rejects.toThrow(
      'cannot be reached',
    );
    expect(told).toEqual([
      expect.stringMatching(
        /^warn http:\/\/127\.0\.0\.1:1\/.* cannot be reached.*; it is asked again for up to 4 s \(retry_ms\)$/,
      ),
    ]);
  });

  it('at a request', async () => {
    const engine = await throughTinker();
    const [datum] = dataOf(
      [await prompt('Open Settings')],
      [{ tokens: [10, 20], logprobs: [-1, -1], stopReason: 'stop', digest: '' }],
    );
    const train = (change: object, other: object = loss) =>
      engine.forwardBackward({
        model: 'policy',
        data: [{ ...datum, ...change }],
        loss: other as typeof loss,
      });
    await expect(train({ temperature: 0.7 })).rejects.toThrow('rollout.temperature');
    await expect(train({}, { name: 'gspo', clip_low: 0.1, clip_high: 0.1 })).rejects.toThrow(
      'has one ratio for each datum, which is a turn; here it is one for all turns of an episode',
    );
    await expect(train({}, { name: 'dpo', beta: 0.1 })).rejects.toThrow("dpo is none of Tinker's API");
    await expect(train({}, { name: 'dppo', divergence: 'kl' })).rejects.toThrow('divergence kl');
    await expect(train({}, { ...loss, dual_clip: 3 })).rejects.toThrow('dual_clip');
    await expect(engine.exportWeights({ name: 'policy', dir: scratch })).rejects.toThrow('lie with');
    // None of these used a sequence number, or ended the engine.
    expect((await train({})).metrics.tokens).toBe(2);
    await expect(engine.discardGradients('policy')).rejects.toThrow('cannot discard them');
    expect((await engine.ended).message).toContain('newest checkpoint');
  });
});
