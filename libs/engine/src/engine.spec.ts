import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadModelFolder, type ModelFolder, type ProcessedImage } from '@ui-rl/models';
import sharp from 'sharp';
import { Engine } from '../test/token-engine';
import type { EngineOptions, GenerateResult, Prompt, TrainSample } from '../test/token-types';

const fixture = join(__dirname, '../../../test/golden/fixtures/qwen3-vl-a');
const modelDir = join(fixture, 'model');

const options: EngineOptions = {
  modelDir,
  device: 'cpu',
  trainable: { mode: 'full' },
  maxRows: 4,
  maxSequence: 160,
  threads: 2,
  seed: 1,
};
const lora = { rank: 4, alpha: 8, targets: 'all-linear' as const, dropout: 0 };

let folder: ModelFolder;
let images: ProcessedImage[];
let scratch: string;
const running: Engine[] = [];

beforeAll(async () => {
  folder = await loadModelFolder(modelDir);
  const files = ['0.png', '1.png', '2.png'].map((name) => readFileSync(join(fixture, 'images', name)));
  images = await Promise.all(files.map((png) => folder.imageProcessor.process(png)));
  scratch = await mkdtemp(join(tmpdir(), 'engine-'));
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((engine) => engine.stop()));
});

afterAll(() => rm(scratch, { recursive: true, force: true }));

async function start(changes: Partial<EngineOptions> = {}): Promise<Engine> {
  const engine = await Engine.start({ ...options, ...changes });
  running.push(engine);
  return engine;
}

/** A prompt of its own length, with so many images. */
function prompt(index: number, imageCount = 1): Prompt {
  const own = Array.from({ length: imageCount }, (_, i) => images[(index + i) % images.length]);
  const { imageTokenId } = folder.family.shape;
  const words = Array.from({ length: 3 + 2 * index }, (_, i) => 10 + ((7 * i + index) % 200));
  const placeholders = own.flatMap(({ tokens }) => [90, ...new Array<number>(tokens).fill(imageTokenId), 91]);
  return { tokenIds: [...words, ...placeholders, 5], images: own };
}

function generate(engine: Engine, index: number, changes: object = {}): Promise<GenerateResult> {
  const request = { prompt: prompt(index), maxTokens: 6 + index, temperature: 1, topP: 1, seed: 100 + index };
  return engine.generate({ ...request, ...changes });
}

/** Trains every sampled token of a response. */
function sampleOf(from: Prompt, result: GenerateResult, advantage: number, temperature = 1): TrainSample {
  const begin = from.tokenIds.length;
  const tokenIds = [...Array.from(from.tokenIds), ...result.tokenIds];
  const oldLogprobs = new Float32Array(tokenIds.length);
  oldLogprobs.set(result.logprobs, begin);
  const mask = tokenIds.map((_, token) => (token >= begin ? 1 : 0));
  return { tokenIds, images: from.images, mask, advantages: advantage, oldLogprobs, temperature };
}

/** Supervised samples of several lengths. */
function lessons(): TrainSample[] {
  return [0, 1, 2, 3, 4].map((index) => {
    const { tokenIds, images: own } = prompt(index, index % 3);
    const all = [...Array.from(tokenIds), 20 + index, 30 + index, 40];
    return {
      tokenIds: all,
      images: own,
      mask: all.map((_, i) => (i >= tokenIds.length ? 1 : 0)),
      advantages: 1,
    };
  });
}

const supervised = { loss: { name: 'cross_entropy', aggregation: 'token-mean' } as const, maxGradNorm: 1 };

/** Largest difference of the sampler's and the trainer's log-probabilities of the same tokens. */
async function disagreement(engine: Engine, samples: TrainSample[]): Promise<number> {
  const found = await engine.logprobs(samples);
  let worst = 0;
  samples.forEach(({ mask, oldLogprobs }, row) => {
    for (let token = 0; token < mask.length; token += 1) {
      if (mask[token] === 0) expect(found[row][token]).toBeNaN();
      else worst = Math.max(worst, Math.abs(found[row][token] - oldLogprobs![token]));
    }
  });
  return worst;
}

describe('generation', () => {
  it('decodes the reference implementation’s greedy tokens', async () => {
    const expected = JSON.parse(await readFile(join(fixture, 'expected.json'), 'utf8')) as {
      prompt_ids: number[];
      greedy_ids: number[];
      images: { file: string }[];
    };
    const reference = await Promise.all(
      expected.images.map(async ({ file }) =>
        folder.imageProcessor.process(await readFile(join(fixture, file))),
      ),
    );
    const engine = await start({ maxSequence: 256 });
    const result = await engine.generate({
      prompt: { tokenIds: expected.prompt_ids, images: reference },
      maxTokens: expected.greedy_ids.length,
      temperature: 0,
      topP: 1,
      seed: 0,
    });
    expect(result.tokenIds).toEqual(expected.greedy_ids.slice(0, result.tokenIds.length));
    expect(result.tokenIds.length === expected.greedy_ids.length || result.finishReason === 'stop').toBe(
      true,
    );
  });

  it.each([
    ['all weights', { trainable: { mode: 'full' as const } }],
    ['an adapter', { trainable: { mode: 'lora' as const, lora } }],
    [
      'an adapter that reaches the vision tower',
      { trainable: { mode: 'lora' as const, lora: { ...lora, vision: true } } },
    ],
  ])(
    'gives the log-probabilities the trainer computes, with %s, before and after a step',
    async (_name, changes) => {
      const engine = await start(changes);
      // More requests than rows, with none to three images, at several temperatures.
      const requests = [0, 1, 2, 3, 4, 5, 6].map((index) => {
        const temperature = [1, 0.7, 0, 1.5][index % 4];
        return { from: prompt(index, index % 4), temperature, index };
      });
      const sample = () =>
        Promise.all(
          requests.map(async ({ from, temperature, index }) => {
            const result = await generate(engine, index, { prompt: from, temperature });
            return sampleOf(from, result, index % 2 === 0 ? 1 : -1, temperature);
          }),
        );
      const samples = await sample();
      expect(await disagreement(engine, samples)).toBeLessThan(1e-4);
      const loss = { name: 'importance_sampling', aggregation: 'token-mean' } as const;
      const step = await engine.trainStep({ samples, loss, learningRate: 5e-3, maxGradNorm: 1 });
      expect(step.metrics['optim/logp_difference_max']).toBeLessThan(1e-4);
      expect(step.metrics['optim/kl_sample_train_v2']).toBeLessThan(1e-8);
      const after = await sample();
      expect(after.map(({ tokenIds }) => tokenIds)).not.toEqual(samples.map(({ tokenIds }) => tokenIds));
      expect(await disagreement(engine, after)).toBeLessThan(1e-4);
    },
  );

  it('reads a prompt once for the samples of a group, and samples as if it were read for each', async () => {
    const engine = await start({ maxRows: 6 });
    const group = { prompt: prompt(3, 2), maxTokens: 8 };
    const seeds = [1, 2, 3, 4, 5, 6, 7, 8];
    const alone: GenerateResult[] = [];
    for (const seed of seeds) alone.push(await generate(engine, 3, { ...group, seed }));
    expect((await engine.info()).sharedPrompts).toBe(0);
    const requests = seeds.map((seed) => generate(engine, 3, { ...group, seed, maxTokens: 4 + (seed % 5) }));
    // Others in between, one with the same words and another picture of the same size.
    const negative = await sharp(join(fixture, 'images', '0.png'))
      .negate({ alpha: false })
      .png()
      .toBuffer();
    const twins = [await folder.imageProcessor.process(negative), ...group.prompt.images.slice(1)];
    const like = generate(engine, 3, { ...group, seed: 1, prompt: { ...group.prompt, images: twins } });
    const others = [generate(engine, 1), like];
    const together = await Promise.all(requests);
    await Promise.all(others);
    expect((await like).logprobs[0]).not.toBe(alone[0].logprobs[0]);
    together.forEach(({ tokenIds, logprobs }, index) => {
      expect(tokenIds).toEqual(alone[index].tokenIds.slice(0, tokenIds.length));
      logprobs.forEach((logprob, token) => expect(logprob).toBeCloseTo(alone[index].logprobs[token], 4));
    });
    expect((await engine.info()).sharedPrompts).toBeGreaterThanOrEqual(5);
    const samples = together.map((result) => sampleOf(group.prompt, result, 1));
    expect(await disagreement(engine, samples)).toBeLessThan(1e-4);
  });

  it('in deterministic mode gives the same bits whatever the neighbours and the order', async () => {
    const engine = await start({ deterministic: true });
    const alone: GenerateResult[] = [];
    for (const index of [0, 1, 2, 3, 4, 5]) alone.push(await generate(engine, index));
    const together = await Promise.all([5, 3, 1, 0, 2, 4].map((index) => generate(engine, index)));
    [5, 3, 1, 0, 2, 4].forEach((index, place) => expect(together[place]).toEqual(alone[index]));
    const other = await start({ deterministic: true });
    expect(await generate(other, 4)).toEqual(alone[4]);
  });

  it('ends at stop tokens, at the limit, and where the sequence is full', async () => {
    const engine = await start({ maxSequence: prompt(1).tokenIds.length + 4 });
    const full = await generate(engine, 1, { maxTokens: 50 });
    expect(full.finishReason).toBe('length');
    expect(full.tokenIds).toHaveLength(4);
    const stopped = await generate(engine, 1, { maxTokens: 50, stopTokenIds: [full.tokenIds[1]] });
    expect(stopped.finishReason).toBe('stop');
    expect(stopped.tokenIds).toEqual(full.tokenIds.slice(0, 2));
    expect((await generate(engine, 1, { maxTokens: 2 })).tokenIds).toEqual(full.tokenIds.slice(0, 2));
  });

  it('refuses what it cannot do, says why, and goes on', async () => {
    const engine = await start({ maxSequence: 12 });
    const long = { tokenIds: new Array<number>(12).fill(5), images: [] };
    await expect(generate(engine, 0, { prompt: long })).rejects.toThrow('the prompt has 12 tokens');
    const { tokenIds } = prompt(0);
    const unfed = { tokenIds: Array.from(tokenIds).slice(0, 10), images: [] };
    await expect(generate(engine, 0, { prompt: unfed })).rejects.toThrow('placeholder');
    await expect(generate(engine, 0, { policy: 'nobody' })).rejects.toThrow('there is no model "nobody"');
    await expect(generate(engine, 0, { prompt: { tokenIds: [1], images: [] }, topP: 0 })).rejects.toThrow(
      'topP is 0',
    );
    const fine = await generate(engine, 0, { prompt: { tokenIds: [5, 6], images: [] }, maxTokens: 1 });
    expect(fine.tokenIds).toHaveLength(1);
  });

  it('fails to start on a missing folder with a message that names it', async () => {
    await expect(start({ modelDir: '/nowhere' })).rejects.toThrow('/nowhere');
  });
});

describe('training', () => {
  it('takes the same step however the batch is cut', async () => {
    const steps = [
      { microBatch: {}, minibatches: 1 },
      { microBatch: {}, minibatches: 5 },
      { microBatch: { rows: 2, patches: 60 }, minibatches: 1 },
    ];
    const results: { digest: string; loss: number; norm: number; logprobs: number[] }[] = [];
    for (const { microBatch, minibatches } of steps) {
      const engine = await start({ microBatch });
      const { metrics } = await engine.trainStep({
        ...supervised,
        samples: lessons(),
        learningRate: 1e-3,
        minibatches,
      });
      const scored = await engine.logprobs(lessons());
      const logprobs = scored.flatMap((row) => [...row].filter((value) => !Number.isNaN(value)));
      results.push({ digest: '', loss: metrics['optim/loss'], norm: metrics['optim/grad_norm'], logprobs });
    }
    for (const result of results.slice(1)) {
      expect(result.loss).toBeCloseTo(results[0].loss, 4);
      expect(result.norm / results[0].norm).toBeCloseTo(1, 3);
      result.logprobs.forEach((value, i) => expect(value).toBeCloseTo(results[0].logprobs[i], 2));
    }
  });

  it.each([
    ['all weights', { mode: 'full' as const }],
    ['an adapter', { mode: 'lora' as const, lora }],
  ])('learns by heart what it is taught, with %s', async (_name, trainable) => {
    const engine = await start({ trainable });
    const losses: number[] = [];
    for (let step = 0; step < 40; step += 1) {
      const { metrics } = await engine.trainStep({ ...supervised, samples: lessons(), learningRate: 1e-2 });
      losses.push(metrics['optim/loss']);
    }
    expect(losses[0]).toBeGreaterThan(3);
    expect(losses.at(-1)).toBeLessThan(0.5);
    const { tokenIds, images: own } = prompt(1, 1);
    const said = await engine.generate({
      prompt: { tokenIds, images: own },
      maxTokens: 3,
      temperature: 0,
      topP: 1,
      seed: 0,
    });
    expect(said.tokenIds).toEqual([21, 31, 40]);
  });

  it('computes no sample without an advantage, and counts its tokens all the same', async () => {
    const sampled = lessons().map((lesson) => ({
      ...lesson,
      oldLogprobs: new Float32Array(lesson.mask.length).fill(-5),
    }));
    const some = sampled.map((sample, index) => ({ ...sample, advantages: index < 2 ? 1 : 0 }));
    const loss = { name: 'importance_sampling', aggregation: 'token-mean' } as const;
    const taken = async (samples: TrainSample[]) => {
      const engine = await start();
      return (await engine.trainStep({ loss, samples, learningRate: 1e-3, maxGradNorm: 0 })).metrics;
    };
    const [all, two] = [await taken(some), await taken(some.slice(0, 2))];
    expect(all['optim/samples']).toBe(2);
    expect(all['optim/loss'] / two['optim/loss']).toBeCloseTo(2 / 5, 5);
  });

  it.each([
    ['as one graph', 'off' as const],
    ['layer by layer', 'on' as const],
  ])(
    '%s lets generation go on meanwhile, with the weights it began with',
    async (_, gradientCheckpointing) => {
      const engine = await start({ deterministic: true, gradientCheckpointing });
      const before = await generate(engine, 2, { maxTokens: 60 });
      const training = engine.trainStep({
        ...supervised,
        samples: lessons(),
        learningRate: 1e-2,
        minibatches: 5,
      });
      const during = await generate(engine, 2, { maxTokens: 60 });
      expect(during).toEqual(before);
      expect((await training).version).toBe(1);
      expect((await generate(engine, 2)).policyVersion).toBe(1);
    },
  );

  it('refuses samples that do not fit together and stays as it was', async () => {
    const engine = await start();
    const [lesson] = lessons();
    const step = (sample: TrainSample, loss: 'cross_entropy' | 'ppo' = 'cross_entropy') =>
      engine.trainStep({
        ...supervised,
        loss: { name: loss, aggregation: 'token-mean' },
        samples: [sample],
        learningRate: 1,
      });
    await expect(step({ ...lesson, mask: [1] })).rejects.toThrow('sample 0 has');
    await expect(step({ ...lesson, mask: lesson.tokenIds })).rejects.toThrow('first token');
    await expect(step({ ...lesson, mask: Array.from(lesson.mask, () => 0) })).rejects.toThrow(
      'none of the 1 samples',
    );
    await expect(step(lesson, 'ppo')).rejects.toThrow('no oldLogprobs');
    await expect(step({ ...lesson, weight: Number.NaN })).rejects.toThrow('the loss is NaN');
    expect((await engine.info()).version).toBe(0);
  });
});

describe('checkpoints', () => {
  const train = (engine: Engine) =>
    engine.trainStep({ ...supervised, samples: lessons(), learningRate: 1e-3 });

  it.each([
    ['all weights', { mode: 'full' as const }],
    ['an adapter', { mode: 'lora' as const, lora }],
  ])('go on as if nothing had happened, with %s', async (name, trainable) => {
    const dir = join(scratch, name, '000002');
    const first = await start({ trainable });
    await train(first);
    const saved = (await train(first)).digest;
    expect(await first.save(dir, { 'state.json': '{"step":2}' })).toEqual({ version: 2, digest: saved });
    const { digest } = await train(first);
    const second = await start({ trainable });
    expect(await second.load(dir)).toEqual({ version: 2, digest: saved });
    expect((await train(second)).digest).toBe(digest);
    expect(await readFile(join(dir, 'state.json'), 'utf8')).toBe('{"step":2}');
  });

  it('of all weights are model folders of their own', async () => {
    const dir = join(scratch, 'model');
    const engine = await start();
    await train(engine);
    await engine.save(dir);
    const other = await start({ modelDir: dir });
    const [said, again] = await Promise.all(
      [engine, other].map((each) => generate(each, 3, { temperature: 0 })),
    );
    expect(said.tokenIds).toEqual(again.tokenIds);
    expect(said.adapterDigest).toBe(again.adapterDigest);
  });

  it('can be sampled from by id while training goes on, from memory or from disk', async () => {
    const engine = await start({ deterministic: true });
    await engine.save(join(scratch, 'snapshot'));
    const begin = await generate(engine, 3);
    await engine.snapshot('begin');
    await train(engine);
    await engine.snapshot('read', join(scratch, 'snapshot'));
    for (const policy of ['begin', 'read']) expect(await generate(engine, 3, { policy })).toEqual(begin);
    expect((await generate(engine, 3)).adapterDigest).not.toBe(begin.adapterDigest);
    await engine.dropSnapshot('begin');
    await expect(generate(engine, 3, { policy: 'begin' })).rejects.toThrow('known: policy, base, read');
  });

  it('that were changed, or belong to something else, are refused', async () => {
    const dir = join(scratch, 'refused');
    const engine = await start();
    await engine.save(dir);
    const adapter = await start({ trainable: { mode: 'lora', lora } });
    await expect(adapter.load(dir)).rejects.toThrow('holds full weights, but the engine trains lora weights');
    const file = join(dir, 'model.safetensors');
    const bytes = await readFile(file);
    bytes[bytes.length - 2] ^= 64;
    await writeFile(file, bytes);
    await expect(engine.load(dir)).rejects.toThrow('changed or damaged');
  });
});

it('calls after the end are rejected, and the thread is gone', async () => {
  const engine = await Engine.start(options);
  await engine.stop();
  await expect(engine.info()).rejects.toThrow('the engine was stopped');
  expect((await engine.ended).message).toBe('the engine was stopped');
});
