import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gradients, ops, Session, tensor, zeros } from '@ui-rl/graph';
import { loadAdapter } from '../lora/adapter';
import { Parameters } from '../nn/parameters';
import type { FloatTensor } from '../weights/safetensors';
import { WeightStore } from '../weights/store';
import type { Family, Feeds, ImageGeometry, ImageInput, KvPorts, StatePort, TrainerOptions } from './base';
import { familyOf } from './registry';
import { predictingNext } from './common/next-tokens';

const fixtures = join(__dirname, '../../../../test/golden/fixtures');
/** Threads that spin between the operations of a small model would take the cores from other specs. */
const oneThread = { threads: 1 };

interface Expected {
  images: ImageGeometry[];
  prompt_ids: number[];
  response_ids: number[];
  loss: number;
  logprobs: number[];
  text_only: { ids: number[]; logprobs: number[] };
  greedy_ids: number[];
  lora: { loss: number; logprobs: number[]; greedy_ids: number[] };
}

interface Case {
  dir: string;
  expected: Expected;
  tensors: WeightStore;
  family: Family;
  weights: WeightStore;
  images: ImageInput[];
  ids: number[];
}

/** Qwen's patches repeat a still image for each frame: [P, channels · frames · area] → [P, channels · area]. */
function firstFrames(pixels: Float32Array, area: number, frames: number): Float32Array {
  return frames === 1 ? pixels : pixels.filter((_, index) => Math.floor(index / area) % frames === 0);
}

function patchCount({ grid, pictures }: ImageGeometry): number {
  if (pictures === undefined) return grid[0] * grid[1] * grid[2];
  return pictures.reduce((sum, [rows, columns]) => sum + rows * columns, 0);
}

async function load(name: string): Promise<Case> {
  const dir = join(fixtures, name);
  const expected = JSON.parse(readFileSync(join(dir, 'expected.json'), 'utf8')) as Expected;
  const config = join(dir, 'model/config.json');
  const family = familyOf(JSON.parse(readFileSync(config, 'utf8')), config);
  const weights = await WeightStore.open(join(dir, 'model'), family.checkpointName);
  weights.check(family.parameters());
  await weights.holdAsFloat32();
  const tensors = await WeightStore.openFile(join(dir, 'expected.safetensors'));
  const [, size] = tensors.entry('pixel_values').shape;
  const area = family.shape.patchSize ** 2;
  const pixels = firstFrames(await tensors.read('pixel_values'), area, size / (3 * area));
  let row = 0;
  const images = expected.images.map(({ grid, tiles, shown, pictures }) => {
    const begin = row;
    row += patchCount({ grid, pictures });
    return { grid, tiles, shown, pictures, patches: pixels.slice(begin * 3 * area, row * 3 * area) };
  });
  return {
    dir,
    expected,
    tensors,
    family,
    weights,
    images,
    ids: [...expected.prompt_ids, ...expected.response_ids],
  };
}

function worst(found: ArrayLike<number>, expected: ArrayLike<number>): number {
  expect(found).toHaveLength(expected.length);
  let most = 0;
  for (let i = 0; i < expected.length; i++) most = Math.max(most, Math.abs(found[i] - expected[i]));
  return most;
}

/** Largest difference as a share of the largest number of `scaledBy`. */
function relative(
  found: ArrayLike<number>,
  expected: ArrayLike<number>,
  scaledBy: ArrayLike<number>,
): number {
  let scale = 0;
  for (let i = 0; i < scaledBy.length; i++) scale = Math.max(scale, Math.abs(scaledBy[i]));
  return worst(found, expected) / scale;
}

function tensorFeeds(tensors: ReadonlyMap<string, FloatTensor>): Feeds {
  return Object.fromEntries(
    [...tensors].map(([name, { data, shape }]) => [name, tensor('float32', data, shape)]),
  );
}

/** The feeds that a session declares. */
function taken(session: Session, feeds: Feeds): Feeds {
  return Object.fromEntries(
    session.inputNames.filter((name) => name in feeds).map((name) => [name, feeds[name]]),
  );
}

interface Vision {
  features: Feeds;
  firstRows: number[];
}

async function featuresOf(
  { family, images }: Case,
  parameters: Parameters,
  adapter: Feeds = {},
): Promise<Vision> {
  const session = await Session.create(family.buildForward({ kind: 'vision', parameters }).graph, oneThread);
  const { feeds, firstRows } = family.visionFeeds(images);
  const features = await session.run(taken(session, { ...feeds, ...adapter }));
  await session.release();
  return { features, firstRows };
}

function argMax(values: Float32Array): number {
  return values.reduce((best, value, i) => (value > values[best] ? i : best), 0);
}

/** Empty caches and states for some rows, as feeds. */
function emptyCaches(
  { shape }: Family,
  { kv, states }: Pick<Sampler, 'kv' | 'states'>,
  rows: number,
  capacity: number,
): Feeds {
  const dims = [rows, shape.kvHeads, capacity, shape.headDim];
  const caches = kv.flatMap(({ key, value }) => [key, value]);
  return Object.fromEntries([
    ...caches.map(({ past }) => [past, zeros('float32', dims)]),
    ...states.map((state) => [state.past, zeros('float32', [rows, ...state.shape])]),
  ]);
}

/** Writes the additions of a pass to the caches: `tokens[b]` tokens of row b after its `cached[b]` ones. */
function extend(caches: Feeds, outputs: Feeds, cached: readonly number[], tokens: readonly number[]): void {
  for (const [name, { data, dims }] of Object.entries(caches)) {
    const next = outputs[name.replace('past_', 'next_')];
    if (next !== undefined) {
      (data as Float32Array).set(next.data as Float32Array);
      continue;
    }
    const added = outputs[name.replace('past_', 'new_')];
    const [, heads, capacity, width] = dims;
    tokens.forEach((count, b) => {
      for (let head = b * heads; head < (b + 1) * heads; head++) {
        const from = head * added.dims[2] * width;
        const part = (added.data as Float32Array).subarray(from, from + count * width);
        (data as Float32Array).set(part, (head * capacity + cached[b]) * width);
      }
    });
  }
}

/** A sampler with given weights: the case's images with their features, and the sessions for prompts and tokens. */
interface Sampler {
  vision: Vision;
  prefill: Session;
  decode: Session;
  kv: readonly KvPorts[];
  states: readonly StatePort[];
  adapter: Feeds;
}

async function samplerOf(
  { family }: Case,
  vision: Vision,
  parameters: () => Parameters,
  adapter: Feeds = {},
): Promise<Sampler> {
  const build = (pass: 'prompt' | 'token', images: boolean) =>
    family.buildForward({ kind: 'sampler', parameters: parameters(), pass, images });
  const { graph, kv, states } = build('token', false);
  const prefill = await Session.create(build('prompt', true).graph, oneThread);
  return { vision, prefill, decode: await Session.create(graph, oneThread), kv, states, adapter };
}

async function released({ prefill, decode }: Sampler): Promise<void> {
  await Promise.all([prefill.release(), decode.release()]);
}

/** Prefills prompts that share the images of the case, then decodes greedily. */
async function greedy(
  { family, images }: Case,
  { vision: { features, firstRows }, prefill, decode, adapter, ...ports }: Sampler,
  prompts: number[][],
  count: number,
): Promise<number[][]> {
  const capacity = Math.max(...prompts.map((prompt) => prompt.length)) + count;
  const caches = emptyCaches(family, ports, prompts.length, capacity);
  const answers: number[][] = prompts.map(() => []);
  const step = async (session: Session, feeds: Feeds, cached: number[], tokens: number[]): Promise<void> => {
    const outputs = await session.run(taken(session, { ...feeds, ...features, ...adapter, ...caches }));
    extend(caches, outputs, cached, tokens);
    const { logits } = outputs;
    const size = family.shape.vocabSize;
    answers.forEach((answer, b) =>
      answer.push(argMax((logits.data as Float32Array).subarray(b * size, (b + 1) * size))),
    );
  };
  const placed = images.map((image, n) => ({ ...image, firstRow: firstRows[n] }));
  const rows = prompts.map((tokenIds) => ({ tokenIds, images: placed }));
  const lengths = prompts.map((prompt) => prompt.length);
  const none = prompts.map(() => 0);
  await step(prefill, family.prefillFeeds(rows, features.image_features.dims[0]), none, lengths);
  const positions = prompts.map((prompt) => family.nextPosition(prompt, images));
  for (let n = 1; n < count; n++) {
    const cached = lengths.map((length) => length + n - 1);
    const feeds = family.decodeFeeds(
      prompts.map((_, b) => ({
        tokenId: answers[b][n - 1],
        cached: cached[b],
        position: positions[b] + n - 1,
      })),
      capacity,
    );
    const one = prompts.map(() => 1);
    await step(decode, feeds, cached, one);
  }
  return answers;
}

describe.each(readdirSync(fixtures))('%s against transformers', (name) => {
  let golden: Case;
  /** Of the model without an adapter. */
  let vision: Vision;
  let sampler: Sampler;
  const plain = () => new Parameters({ weights: golden.weights });
  beforeAll(async () => {
    golden = await load(name);
    vision = await featuresOf(golden, plain());
    sampler = await samplerOf(golden, vision, plain);
  });
  afterAll(() => released(sampler));

  test('image and deepstack features', async () => {
    const { family, images, tensors } = golden;
    const { features: results, firstRows } = vision;
    expect(family.features).toHaveLength(tensors.names().filter((key) => key.includes('_features')).length);
    for (const { name: key, width: size } of family.features) {
      const reference = key === 'image_features' ? 'vision_features' : key;
      const data = results[key].data as Float32Array;
      const found = images.flatMap((image, n) => [
        ...data.subarray(firstRows[n] * size, (firstRows[n] + family.imageTokens(image)) * size),
      ]);
      expect(worst(found, await tensors.read(reference))).toBeLessThan(1e-4);
    }
  });

  test('image and deepstack features of each image alone, with fused attention', async () => {
    const { family, images, tensors } = golden;
    const { graph } = family.buildForward({ kind: 'vision', parameters: plain(), fused: true });
    const session = await Session.create(graph, oneThread);
    const found = new Map(family.features.map(({ name: key }) => [key, [] as number[]]));
    for (const image of images) {
      const { feeds, firstRows } = family.visionFeeds([image]);
      const results = await session.run(taken(session, feeds));
      for (const { name: key, width: size } of family.features) {
        const end = (firstRows[0] + family.imageTokens(image)) * size;
        found.get(key)!.push(...(results[key].data as Float32Array).subarray(firstRows[0] * size, end));
      }
    }
    await session.release();
    for (const [key, values] of found) {
      const reference = key === 'image_features' ? 'vision_features' : key;
      expect(worst(values, await tensors.read(reference))).toBeLessThan(1e-4);
    }
  });

  /** Runs the trainer over one row, with all tokens but the first selected. */
  async function logProbsOf(
    tokenIds: number[],
    images: TrainerOptions['images'],
    parameters: Parameters,
    feeds: Feeds = {},
  ): Promise<Float32Array> {
    const { graph, logProbs } = golden.family.buildForward({ kind: 'trainer', parameters, images });
    graph.output('log_probs', logProbs);
    const session = await Session.create(graph, oneThread);
    const shown = images === 'none' ? [] : golden.images.map((_, i) => i);
    const row = { ...predictingNext(tokenIds), images: shown };
    const batch = golden.family.trainerFeeds([row], golden.images, { images });
    const results = await session.run({ ...batch.feeds, ...feeds });
    await session.release();
    return results.log_probs.data as Float32Array;
  }

  test('log-probabilities of every token', async () => {
    const { ids, expected } = golden;
    const found = await logProbsOf(ids, 'patches', plain());
    expect(worst(found, expected.logprobs)).toBeLessThan(1e-4);
  });

  test('log-probabilities of a text without images', async () => {
    const { expected } = golden;
    const found = await logProbsOf(expected.text_only.ids, 'none', plain());
    expect(worst(found, expected.text_only.logprobs)).toBeLessThan(1e-4);
  });

  test('log-probabilities with features computed apart', async () => {
    const { ids, expected } = golden;
    const found = await logProbsOf(ids, 'features', plain(), vision.features);
    expect(worst(found, expected.logprobs)).toBeLessThan(1e-4);
  });

  test('log-probabilities with an adapter', async () => {
    const { weights, ids, expected, dir, family } = golden;
    const adapter = await loadAdapter(join(dir, 'adapter'), family);
    const parameters = new Parameters({ weights, lora: adapter.plan });
    const found = await logProbsOf(ids, 'patches', parameters, tensorFeeds(adapter.tensors));
    expect(worst(found, expected.lora.logprobs)).toBeLessThan(1e-4);
  });

  /** Builds the mean negative log-probability of the response and its gradients, and runs them. */
  async function gradientsOf(
    parameters: Parameters,
    feeds: Feeds,
  ): Promise<{ loss: number; results: Feeds }> {
    const { family, images, ids, expected } = golden;
    const { graph, logProbs, parameterInputs } = family.buildForward({
      kind: 'trainer',
      parameters,
      images: 'patches',
    });
    const loss = ops.neg(ops.reduceMean(logProbs, [0]));
    const names = [...parameterInputs.keys()];
    const values = gradients(loss, [...parameterInputs.values()]);
    values.forEach((value, i) => graph.output(`gradient:${names[i]}`, value));
    graph.output('loss', loss);
    const session = await Session.create(graph, oneThread);
    const row = { ...predictingNext(ids, expected.prompt_ids.length), images: images.map((_, i) => i) };
    const batch = family.trainerFeeds([row], images, { images: 'patches' });
    const { loss: found, ...results } = await session.run({ ...batch.feeds, ...feeds });
    await session.release();
    return { loss: (found.data as Float32Array)[0], results };
  }

  async function expectGradients(results: Feeds, file: string): Promise<void> {
    const reference = await WeightStore.openFile(file);
    expect(Object.keys(results).toSorted()).toEqual(
      reference
        .names()
        .map((key) => `gradient:${key}`)
        .toSorted(),
    );
    for (const key of reference.names()) {
      const expected = await reference.read(key);
      const { data, dims } = results[`gradient:${key}`];
      expect([key, dims]).toEqual([key, reference.entry(key).shape]);
      // A bias of unrotated keys shifts all scores of a query equally, so its gradient is zero except for rounding.
      const isZero = /\.vision_\w+\..*\.k_proj\.bias$/.test(key);
      const scaledBy = isZero ? await reference.read(key.replace('k_proj', 'q_proj')) : expected;
      expect([key, relative(data as Float32Array, expected, scaledBy) < 1e-3]).toEqual([key, true]);
    }
  }

  test('gradients of every weight', async () => {
    const { weights, expected, dir } = golden;
    const tensors = new Map<string, FloatTensor>();
    for (const { name, shape } of golden.family.parameters())
      tensors.set(name, { shape, data: await weights.read(name, shape) });
    const { loss, results } = await gradientsOf(
      new Parameters({ weights, inputs: 'all' }),
      tensorFeeds(tensors),
    );
    expect(loss).toBeCloseTo(expected.loss, 4);
    await expectGradients(results, join(dir, 'gradients.safetensors'));
  });

  test('gradients of every adapter matrix', async () => {
    const { weights, expected, dir, family } = golden;
    const adapter = await loadAdapter(join(dir, 'adapter'), family);
    const parameters = new Parameters({ weights, lora: adapter.plan });
    const { loss, results } = await gradientsOf(parameters, tensorFeeds(adapter.tensors));
    expect(loss).toBeCloseTo(expected.lora.loss, 4);
    await expectGradients(results, join(dir, 'lora_gradients.safetensors'));
  });

  test('greedy tokens over a cache', async () => {
    const { expected } = golden;
    expect(await greedy(golden, sampler, [expected.prompt_ids], 32)).toEqual([expected.greedy_ids]);
  });

  test('greedy tokens with an adapter', async () => {
    const { weights, expected, dir, family } = golden;
    const { plan, tensors } = await loadAdapter(join(dir, 'adapter'), family);
    const parameters = (): Parameters => new Parameters({ weights, lora: plan });
    const adapter = tensorFeeds(tensors);
    const adapted = await featuresOf(golden, parameters(), adapter);
    const withAdapter = await samplerOf(golden, adapted, parameters, adapter);
    const found = await greedy(golden, withAdapter, [expected.prompt_ids], 32);
    await released(withAdapter);
    expect(found).toEqual([expected.lora.greedy_ids]);
  });

  test('rows of different length do not disturb each other', async () => {
    const { prompt_ids: prompt, greedy_ids: answer } = golden.expected;
    const prompts = [prompt, [...prompt, ...answer.slice(0, 9)], [...prompt, ...answer.slice(0, 4)]];
    const found = await greedy(golden, sampler, prompts, 20);
    expect(found).toEqual([answer.slice(0, 20), answer.slice(9, 29), answer.slice(4, 24)]);
  });
});
