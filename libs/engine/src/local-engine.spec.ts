import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadModelFolder, readSafetensors, type ModelFolder } from '@ui-rl/models';
import {
  ComponentRegistry,
  type Datum,
  type Engine,
  type ModelInput,
  type TrainedModel,
} from '@ui-rl/plugin-kit';
import { components, LocalEngine, modelInputOf, type LocalEngineSettings } from './index';

const fixtures = join(__dirname, '../../../test/golden/fixtures');
const outside = ['sgd.cjs', 'sequence-losses.cjs'].map((file) => join(__dirname, '../test/components', file));

const lora = { rank: 4, alpha: 8, targets: 'all-linear', dropout: 0, vision: false, rslora: false };
const adapter = (name = 'policy'): TrainedModel => ({
  name,
  role: 'policy',
  trainable: { mode: 'lora', lora },
});
const full: TrainedModel = { name: 'policy', role: 'policy', trainable: { mode: 'full' } };
const adamw = { name: 'adamw', beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weight_decay: 0 };
const crossEntropy = { name: 'cross_entropy' };

let scratch: string;
const running: Engine[] = [];

beforeAll(async () => (scratch = await mkdtemp(join(tmpdir(), 'local-engine-'))));
afterEach(async () => {
  await Promise.all(running.splice(0).map((engine) => engine.stop()));
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

/** A model folder and its screenshots, by hash. */
class Screens {
  readonly fetched: string[] = [];
  private constructor(
    readonly folder: ModelFolder,
    private readonly bytes: ReadonlyMap<string, Buffer>,
  ) {}

  static async of(fixture: string): Promise<Screens> {
    const folder = await loadModelFolder(join(fixtures, fixture, 'model'));
    const files = ['0.png', '1.png'].map((file) => readFileSync(join(fixtures, fixture, 'images', file)));
    const hash = (png: Buffer): string => createHash('sha256').update(png).digest('hex');
    return new Screens(folder, new Map(files.map((png) => [hash(png), png])));
  }

  readonly fetchImage = async (sha256: string): Promise<Buffer | null> => {
    this.fetched.push(sha256);
    return this.bytes.get(sha256) ?? null;
  };

  /** A prompt with images in it, as the renderer gives their placeholders: one run each. */
  async prompt(index: number, imageCount = 1): Promise<number[]> {
    const words = Array.from({ length: 3 + 2 * index }, (_, i) => 10 + ((7 * i + index) % 150));
    const { imageTokenId } = this.folder.family.shape;
    const images = await this.images(index, imageCount);
    const shown = images.flatMap(({ tokens }) => [90, ...new Array<number>(tokens).fill(imageTokenId), 91]);
    return [...words, ...shown, 5];
  }

  async images(index: number, count: number): Promise<{ sha256: string; tokens: number }[]> {
    const hashes = [...this.bytes.keys()];
    const chosen = Array.from({ length: count }, (_, i) => hashes[(index + i) % hashes.length]);
    const images = await Promise.all(
      chosen.map((sha256) => this.folder.imageProcessor.process(this.bytes.get(sha256)!)),
    );
    return images.map((image) => (count > 1 ? (image.amongOthers ?? image) : image));
  }

  async input(index: number, imageCount = 1, answer: readonly number[] = []): Promise<ModelInput> {
    const tokenIds = [...(await this.prompt(index, imageCount)), ...answer];
    const images = await this.images(index, imageCount);
    return modelInputOf(tokenIds, images, this.folder.family.shape.imageTokenId);
  }

  /** A datum whose answer's tokens are trained. */
  async datum(index: number, answer: readonly number[], imageCount = 1, weight = 0.1): Promise<Datum> {
    const begin = (await this.prompt(index, imageCount)).length;
    const modelInput = await this.input(index, imageCount, answer.slice(0, -1));
    const length = begin + answer.length - 1;
    const at = (position: number): number => position - (begin - 1);
    const places = Array.from({ length }, (_, position) => position);
    return {
      modelInput,
      targetTokens: places.map((position) => answer[at(position)] ?? 0),
      weights: places.map((position) => (at(position) >= 0 ? weight : 0)),
    };
  }
}

let screens: Screens;
beforeAll(async () => (screens = await Screens.of('qwen3-vl-a')));

async function start(changes: Partial<LocalEngineSettings> = {}, from = screens): Promise<LocalEngine> {
  const engine = await LocalEngine.start({
    modelDir: from.folder.dir,
    device: 'cpu',
    models: [full],
    maxRows: 4,
    maxSequence: 200,
    threads: 2,
    seed: 1,
    componentFiles: outside,
    fetchImage: from.fetchImage,
    ...changes,
  });
  running.push(engine);
  return engine;
}

const lessons = (): Promise<Datum[]> =>
  Promise.all([0, 1, 2, 3].map((index) => screens.datum(index, [20 + index, 30 + index, 40], index % 3)));

const train = (engine: Engine, data: readonly Datum[], model = 'policy') =>
  engine.forwardBackward({ model, data, loss: crossEntropy });
const step = (engine: Engine, changes: object = {}) =>
  engine.optimStep({ model: 'policy', optimizer: adamw, learningRate: 1e-2, maxGradNorm: 1, ...changes });
async function scores(engine: Engine, model: string, data: readonly Datum[]): Promise<number[]> {
  const { logprobs } = await engine.forward({ model, data });
  return logprobs.flatMap((row) => [...row].filter((value) => !Number.isNaN(value)));
}

describe('model inputs', () => {
  it.each(['qwen3-vl-a', 'smolvlm-a', 'llava-onevision-c'])(
    'with images by hash, of %s: what was sampled is scored alike, and images are fetched once',
    async (fixture) => {
      const own = fixture === 'qwen3-vl-a' ? screens : await Screens.of(fixture);
      const engine = await start({ models: [adapter()] }, own);
      own.fetched.length = 0;
      for (const imageCount of [1, 2]) {
        const prompt = await own.input(imageCount, imageCount);
        const request = { model: 'policy', prompt, maxTokens: 6, temperature: 0.8, topP: 1, seed: 3 };
        const { tokens, logprobs } = await engine.sample(request);
        const datum = { ...(await own.datum(imageCount, tokens, imageCount)), temperature: 0.8 };
        const scored = await scores(engine, 'policy', [datum]);
        expect(scored).toHaveLength(tokens.length);
        scored.forEach((value, token) => expect(Math.abs(value - logprobs[token])).toBeLessThan(1e-4));
      }
      expect(own.fetched).toHaveLength(2);
    },
  );

  it('are refused where an image is not to be had, or takes other places than it is given', async () => {
    const engine = await start();
    const sample = (chunks: ModelInput['chunks']) =>
      engine.sample({ model: 'policy', prompt: { chunks }, maxTokens: 1, temperature: 1, topP: 1, seed: 1 });
    await expect(sample([{ type: 'image', sha256: 'f00', tokens: 4 }])).rejects.toMatchObject({
      category: 'request',
      message: expect.stringContaining('the image f00 is not in memory') as string,
    });
    const [{ sha256, tokens }] = await screens.images(0, 1);
    const text = { type: 'text', tokens: [5] } as const;
    const image = (count: number) => ({ type: 'image', sha256, tokens: count }) as const;
    await expect(sample([text, image(tokens - 1), text])).rejects.toThrow('found the end');
    await expect(sample([text, image(tokens + 1), text])).rejects.toThrow(`has ${tokens} features`);
  });

  it('may show the features of an image in several places', async () => {
    const own = await Screens.of('smolvlm-a');
    const engine = await start({}, own);
    const [{ sha256, tokens }] = await own.images(0, 1);
    const image = (count: number) => ({ type: 'image', sha256, tokens: count }) as const;
    const text = { type: 'text', tokens: [5] } as const;
    const chunks = [text, image(tokens - 2), text, image(2), text];
    const request = { model: 'policy', maxTokens: 2, temperature: 0, topP: 1, seed: 1 };
    expect((await engine.sample({ ...request, prompt: { chunks } })).tokens).toHaveLength(2);
  });

  it('are cut out of sequences with placeholders', () => {
    const images = [
      { sha256: 'a', tokens: 3 },
      { sha256: 'b', tokens: 1 },
    ];
    // The first image has two runs, and the second one follows it at once.
    expect(modelInputOf([1, 9, 9, 2, 9, 9, 3], images, 9).chunks).toEqual([
      { type: 'text', tokens: Int32Array.of(1) },
      { type: 'image', sha256: 'a', tokens: 2 },
      { type: 'text', tokens: Int32Array.of(2) },
      { type: 'image', sha256: 'a', tokens: 1 },
      { type: 'image', sha256: 'b', tokens: 1 },
      { type: 'text', tokens: Int32Array.of(3) },
    ]);
    expect(() => modelInputOf([1, 9, 9], images, 9)).toThrow('fewer image placeholders');
    expect(() => modelInputOf([9, 9, 9, 9, 9], images, 9)).toThrow('more image placeholders');
  });
});

describe('gradients', () => {
  it('of several calls are those of one', async () => {
    const data = await lessons();
    const [once, often] = [await start(), await start()];
    const { metrics } = await train(once, data);
    let loss = 0;
    for (const datum of data) loss += (await train(often, [datum])).metrics.loss;
    expect(loss).toBeCloseTo(metrics.loss, 4);
    const [first, second] = [await step(once), await step(often)];
    expect(second.metrics.grad_norm / first.metrics.grad_norm).toBeCloseTo(1, 4);
    const [expected, found] = [await scores(once, 'policy', data), await scores(often, 'policy', data)];
    found.forEach((value, i) => expect(value).toBeCloseTo(expected[i], 2));
  });

  it('are what they were after a call that failed, and verbs take effect in the order of the calls', async () => {
    const data = await lessons();
    const [plain, disturbed] = [await start(), await start()];
    await train(plain, data.slice(0, 2));
    const expected = await step(plain);
    // Not awaited one by one: the images of the first call take longer than the second has to wait for.
    const good = train(disturbed, data.slice(0, 2));
    const broken = { ...data[2], weights: Array.from(data[2].weights, (weight) => weight && Number.NaN) };
    const bad = disturbed.forwardBackward({
      model: 'policy',
      data: [data[3], broken],
      loss: crossEntropy,
      minPasses: 2,
    });
    const stepped = step(disturbed);
    await good;
    await expect(bad).rejects.toThrow('the loss is NaN; no gradient was added');
    expect(await stepped).toEqual(expected);
  });

  it('are forgotten with discardGradients and after a step; without any a step changes nothing', async () => {
    const data = await lessons();
    const engine = await start();
    await train(engine, data);
    await engine.discardGradients('policy');
    const before = (await engine.saveWeightsForSampler({ model: 'policy', name: 'before' })).digest;
    expect((await step(engine)).metrics.grad_norm).toBe(0);
    expect((await engine.saveWeightsForSampler({ model: 'policy', name: 'after' })).digest).toBe(before);
    await train(engine, data);
    expect((await step(engine)).metrics.grad_norm).toBeGreaterThan(0);
    expect((await step(engine)).metrics.grad_norm).toBe(0);
  });

  it('that are not finite are refused and kept for the caller to discard', async () => {
    const [datum] = await lessons();
    const engine = await start();
    const huge = { ...datum, weights: Array.from(datum.weights, (weight) => weight * 1e38) };
    for (let call = 0; call < 30; call += 1) await train(engine, [huge]);
    const { digest } = await engine.saveWeightsForSampler({ model: 'policy', name: 'before' });
    await expect(step(engine)).rejects.toThrow('no step was taken');
    await engine.discardGradients('policy');
    await train(engine, [datum]);
    const after = await step(engine, { learningRate: 0 });
    expect(after.weights).toEqual({ version: 1, digest });
  });
});

describe('losses', () => {
  it('from a module outside are named by a request; pairs and sequences are never parted', async () => {
    const [a, b, c, d] = await lessons();
    const withInputs = (datum: Datum, sequence: string, pair: Datum['pair']): Datum => ({
      ...datum,
      lossInputs: { reference_logprobs: Array.from(datum.weights, () => -5) },
      sequence,
      ...(pair === undefined ? {} : { pair }),
    });
    const data = [
      withInputs(a, 'a', { id: 'p', side: 'chosen' }),
      withInputs(b, 'b', { id: 'p', side: 'rejected' }),
      withInputs(c, 'c', { id: 'q', side: 'rejected' }),
      withInputs(d, 'd', { id: 'q', side: 'chosen' }),
    ];
    const engine = await start({ microBatch: { rows: 1 } });
    const loss = { name: 'dpo', beta: 0.2 };
    const first = await engine.forwardBackward({ model: 'policy', data, loss });
    expect(first.metrics.passes).toBe(2);
    expect(first.metrics.tokens).toBe(12);
    // By hand, from the log-probabilities that come back.
    const ratios = first.logprobs.map((row) =>
      [...row].filter((value) => !Number.isNaN(value)).reduce((sum, value) => sum + value + 5, 0),
    );
    const margins = [ratios[0] - ratios[1], ratios[3] - ratios[2]].map((gap) => 0.2 * gap);
    const expected = margins.reduce((sum, margin) => sum + 0.6 * Math.log(1 + Math.exp(-margin)), 0);
    expect(first.metrics.loss).toBeCloseTo(expected, 4);
    expect(first.metrics['loss/accuracy']).toBe(margins.filter((margin) => margin > 0).length / 2);
    for (let i = 0; i < 15; i += 1) {
      await step(engine);
      await engine.forwardBackward({ model: 'policy', data, loss });
    }
    const last = await engine.forwardBackward({ model: 'policy', data, loss });
    expect(last.metrics['loss/accuracy']).toBe(1);
    expect(last.metrics.loss).toBeLessThan(first.metrics.loss / 2);
  });

  it('are refused by name where nobody has them, or the data lack what they read', async () => {
    const engine = await start();
    const data = await lessons();
    const attempt = (loss: { name: string }) => engine.forwardBackward({ model: 'policy', data, loss });
    await expect(attempt({ name: 'crossentropy' })).rejects.toThrow(
      /no policy-loss is named "crossentropy".*cross_entropy/,
    );
    await expect(attempt({ name: 'ppo', clip: 1 } as { name: string })).rejects.toMatchObject({
      category: 'request',
    });
    await expect(attempt({ name: 'ppo' })).rejects.toThrow(
      'datum 0 has no advantages, which the loss ppo reads',
    );
    await expect(attempt({ name: 'dpo' })).rejects.toThrow('datum 0 has no reference_logprobs');
  });
});

describe('models over one base', () => {
  it.each([
    ['an adapter', adapter()],
    ['all weights', full],
  ])('base is the model as it was loaded, while the policy trains %s', async (_name, model) => {
    const data = await lessons();
    const [engine, frozen] = [
      await start({ models: [model], deterministic: true }),
      await start({ models: [{ ...model, trainable: { mode: 'frozen' } }], deterministic: true }),
    ];
    await train(engine, data);
    await step(engine);
    const expected = await scores(frozen, 'policy', data);
    (await scores(engine, 'base', data)).forEach((value, i) => expect(value).toBeCloseTo(expected[i], 5));
    expect(Math.abs((await scores(engine, 'policy', data))[0] - expected[0])).toBeGreaterThan(1e-3);
    const prompt = await screens.input(1);
    const request = { prompt, maxTokens: 8, temperature: 1, topP: 1, seed: 5 };
    const [base, original] = await Promise.all([
      engine.sample({ model: 'base', ...request }),
      frozen.sample({ model: 'policy', ...request }),
    ]);
    expect(base.tokens).toEqual(original.tokens);
    expect(base.digest).toBe(original.digest);
    await expect(train(engine, data, 'base')).rejects.toThrow('no model "base" is trained');
    await expect(train(frozen, data)).rejects.toThrow('the weights of policy are frozen');
  });

  it('base under an adapter over 4-bit layers is the model without it', async () => {
    const shipped = join(__dirname, '../../../deploy/local/model');
    const settings = {
      modelDir: shipped,
      quantization: 'int4' as const,
      cacheDir: scratch,
      deterministic: true,
    };
    const data: Datum[] = [
      {
        modelInput: { chunks: [{ type: 'text', tokens: [10, 11, 12, 13] }] },
        targetTokens: [11, 12, 13, 14],
        weights: [1, 1, 1, 1],
      },
    ];
    const [engine, frozen] = [
      await start({ ...settings, models: [adapter()] }),
      await start({ ...settings, models: [{ ...adapter(), trainable: { mode: 'frozen' } }] }),
    ];
    await train(engine, data);
    await step(engine);
    const expected = await scores(frozen, 'policy', data);
    expect(await scores(engine, 'policy', data)).not.toEqual(expected);
    (await scores(engine, 'base', data)).forEach((value, i) => expect(value).toBeCloseTo(expected[i], 4));
  });

  it('several adapters learn apart, with gradients, optimizers and checkpoints of their own', async () => {
    const data = await lessons();
    const small: TrainedModel = {
      ...adapter('critic'),
      trainable: { mode: 'lora', lora: { ...lora, rank: 2, targets: 'attention' } },
    };
    const engine = await start({ models: [adapter(), adapter('second'), small] });
    const names = ['policy', 'second', 'critic'];
    expect((await engine.info()).models).toEqual([...names, 'base']);
    const before = Object.fromEntries(
      await Promise.all(names.map(async (name) => [name, await scores(engine, name, data)] as const)),
    );
    // Gradients of the one are still there when the other takes its step.
    await train(engine, data.slice(0, 2), 'critic');
    await train(engine, data, 'policy');
    expect((await step(engine)).weights.version).toBe(1);
    expect(await scores(engine, 'second', data)).toEqual(before.second);
    expect(await scores(engine, 'critic', data)).toEqual(before.critic);
    expect(await scores(engine, 'policy', data)).not.toEqual(before.policy);
    const policy = await scores(engine, 'policy', data);
    const { metrics } = await step(engine, { model: 'critic', optimizer: { name: 'sgd', momentum: 0.5 } });
    expect(metrics.grad_norm).toBeGreaterThan(0);
    expect(await scores(engine, 'critic', data)).not.toEqual(before.critic);
    expect(await scores(engine, 'policy', data)).toEqual(policy);
    const [first, second] = ['policy', 'critic'].map((name) => join(scratch, `of-${name}`));
    await engine.saveState({ model: 'policy', dir: first });
    await engine.saveState({ model: 'critic', dir: second });
    await expect(engine.loadState({ model: 'policy', dir: second, optimizer: true })).rejects.toMatchObject({
      category: 'checkpoint',
    });
    const restored = await engine.loadState({ model: 'second', dir: first, optimizer: true });
    expect(restored.version).toBe(1);
    expect(await scores(engine, 'second', data)).toEqual(policy);
  });

  it('weights kept for sampling stay what they were, under names that mean nothing else', async () => {
    const data = await lessons();
    const engine = await start({ models: [adapter()], deterministic: true });
    const request = { prompt: await screens.input(2), maxTokens: 6, temperature: 1, topP: 1, seed: 4 };
    const begin = await engine.sample({ model: 'policy', ...request });
    await engine.saveWeightsForSampler({ model: 'policy', name: 'begin' });
    await train(engine, data);
    await step(engine);
    expect(await engine.sample({ model: 'begin', ...request })).toEqual(begin);
    expect((await engine.sample({ model: 'policy', ...request })).digest).not.toBe(begin.digest);
    for (const name of ['policy', 'base', '']) {
      await expect(engine.saveWeightsForSampler({ model: 'policy', name })).rejects.toThrow(
        'cannot be the name',
      );
    }
    await engine.releaseWeights('begin');
    await expect(engine.sample({ model: 'begin', ...request })).rejects.toThrow('known: policy, base');
  });
});

describe('an optimizer from a module outside', () => {
  const sgd = { name: 'sgd', momentum: 0.9 };
  const learningRate = 1e-2;

  it.each([
    ['all weights', full],
    ['an adapter', adapter()],
  ])('changes %s as its formula says, and goes on from a checkpoint', async (name, model) => {
    const data = await lessons();
    const engine = await start({ models: [model] });
    const dirs = [0, 1, 2].map((at) => join(scratch, 'sgd', name, String(at)));
    const norms: number[] = [];
    await engine.saveState({ model: 'policy', dir: dirs[0] });
    for (const dir of dirs.slice(1)) {
      await train(engine, data);
      const { metrics } = await step(engine, { optimizer: sgd, learningRate, maxGradNorm: 0 });
      norms.push(metrics.grad_norm);
      await engine.saveState({ model: 'policy', dir });
    }
    const file = model === full ? 'model.safetensors' : 'adapter_model.safetensors';
    const [before, once, twice] = await Promise.all(dirs.map((dir) => readSafetensors(join(dir, file))));
    const [first, second] = await Promise.all(
      dirs.slice(1).map((dir) => readSafetensors(join(dir, 'optimizer.safetensors'))),
    );
    expect([...second.keys()].toSorted()).toEqual(
      [...twice.keys()].map((key) => `${key}.velocity`).toSorted(),
    );
    let [squares, gap] = [0, 0];
    for (const [weight, { data: numbers }] of once) {
      const [v1, v2] = [first, second].map((state) => state.get(`${weight}.velocity`)!.data);
      const [from, to] = [before, twice].map((tensors) => tensors.get(weight)!.data);
      numbers.forEach((value, i) => {
        squares += v1[i] ** 2;
        gap = Math.max(gap, Math.abs(from[i] - learningRate * v1[i] - value));
        gap = Math.max(gap, Math.abs(value - learningRate * v2[i] - to[i]));
      });
    }
    expect(gap).toBeLessThan(1e-6);
    expect(Math.sqrt(squares) / norms[0]).toBeCloseTo(1, 4);
    const { optimizer, optimizerSteps } = JSON.parse(
      await readFile(join(dirs[1], 'engine.json'), 'utf8'),
    ) as {
      optimizer: string;
      optimizerSteps: number;
    };
    expect({ optimizer, optimizerSteps }).toEqual({ optimizer: 'sgd', optimizerSteps: 1 });

    const other = await start({ models: [model] });
    await other.loadState({ model: 'policy', dir: dirs[1], optimizer: true });
    await train(other, data);
    const again = await step(other, { optimizer: sgd, learningRate, maxGradNorm: 0 });
    expect(again.metrics.grad_norm).toBe(norms[1]);
    expect(again.weights).toEqual(await weightsOf(engine));
    // Another optimizer cannot go on with that state, but begin without it.
    await other.loadState({ model: 'policy', dir: dirs[1], optimizer: true });
    await train(other, data);
    await expect(step(other)).rejects.toThrow('1 steps were taken with the optimizer sgd');
    await other.loadState({ model: 'policy', dir: dirs[1], optimizer: false });
    await train(other, data);
    expect((await step(other)).weights.version).toBe(2);
  });

  const weightsOf = (engine: Engine) => engine.saveWeightsForSampler({ model: 'policy', name: 'now' });

  it('gets gradients that are clipped', async () => {
    const data = await lessons();
    const engine = await start({ models: [adapter()] });
    await train(engine, data);
    const { metrics } = await step(engine, { optimizer: sgd, learningRate, maxGradNorm: 0.01 });
    expect(metrics.grad_norm).toBeGreaterThan(0.02);
    await engine.saveState({ model: 'policy', dir: join(scratch, 'clipped') });
    const state = await readSafetensors(join(scratch, 'clipped', 'optimizer.safetensors'));
    let squares = 0;
    for (const { data: numbers } of state.values()) for (const value of numbers) squares += value ** 2;
    expect(Math.sqrt(squares)).toBeCloseTo(0.01, 5);
  });
});

it('is what a run file chooses as engine local, and the sampler engine samples from it', async () => {
  const registry = new ComponentRegistry(
    components.map((component) => ({ component, file: '@ui-rl/engine' })),
  );
  const log: string[] = [];
  const choice = { name: 'local', device: 'cpu', threads: 2, gradient_checkpointing: 'on' };
  const engine = await registry.create('engine', choice, {
    modelDir: screens.folder.dir,
    models: [adapter()],
    maxRows: 2,
    maxSequence: 160,
    deterministic: false,
    seed: 1,
    componentFiles: [],
    fetchImage: screens.fetchImage,
    log: (_level, line) => log.push(line),
    onProgress: () => undefined,
  });
  running.push(engine);
  expect(log).toEqual(['the model runs on cpu: as asked for']);
  const info = await engine.info();
  expect(info).toMatchObject({ name: 'local', device: 'cpu (as asked for)', models: ['policy', 'base'] });
  expect(info.trainedParameters).toBeGreaterThan(1000);
  const sampler = await registry.create('sampler', { name: 'engine' }, { engine, log: () => undefined });
  await engine.saveWeightsForSampler({ model: 'policy', name: 'step-1' });
  await sampler.publish('step-1');
  const request = { prompt: await screens.input(0), maxTokens: 2, temperature: 1, topP: 1, seed: 1 };
  expect((await sampler.sample({ model: 'step-1', ...request })).tokens).toHaveLength(2);
  await sampler.retire('step-1');
  await expect(sampler.sample({ model: 'step-1', ...request })).rejects.toThrow('no model "step-1"');
  await sampler.stop();
  await engine.stop();
  await expect(engine.info()).rejects.toThrow('the engine was stopped');
  expect((await engine.ended).message).toBe('the engine was stopped');
});
