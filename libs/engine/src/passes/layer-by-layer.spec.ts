import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deviceMemory, tensor, type SessionOptions } from '@ui-rl/graph';
import {
  isOfValueHead,
  loadModelFolder,
  Parameters,
  planLora,
  predictingNext,
  type LoraPlan,
  type ModelFolder,
  type ParameterSource,
  type ProcessedImage,
} from '@ui-rl/models';
import type { LossModel } from '@ui-rl/plugin-kit';
import { CacheMemory } from '../caches/cache-memory';
import { AccumulatedGradients } from '../training/accumulated-gradients';
import { Algorithms } from '../training/algorithms';
import { LayerByLayer } from './layer-by-layer';
import { OBJECTIVE_INPUTS, type Loss } from './objective';
import type { Feeds } from '../feeds';
import type { PassRunner } from './runner';
import { cutFeeds } from './cut-feeds';
import { imagesOf, type PassMode } from './graphs';
import { initialWeights } from '../weights/initial-weights';
import { VisionEncoder } from '../vision/vision-encoder';
import type { WeightSet } from '../weights/weight-set';
import { WholeGraph } from './whole-graph';

const fixtures = join(__dirname, '../../../../test/golden/fixtures');
const session: SessionOptions = { threads: 2, spinning: false };
const memory = deviceMemory('cpu');
const pause = () => Promise.resolve();

let losses: Record<LossModel, Loss>;
beforeAll(async () => {
  const algorithms = await Algorithms.load([]);
  losses = {
    policy: algorithms.loss({ name: 'ppo', clip_low: 0.2 }, [{ name: 'entropy', coef: 0.02 }]),
    critic: algorithms.loss({ name: 'value', value_clip: 0.1 }),
  };
});

interface Case {
  role: LossModel;
  folder: ModelFolder;
  images: ProcessedImage[];
  plan: LoraPlan | undefined;
  weights: WeightSet;
  parameters: () => ParameterSource;
}

type Trainable = 'full' | 'text' | 'all' | 'critic';

/** All weights trained, or adapters and a head, with non-zero initial values. */
async function load(name: string, trainable: Trainable): Promise<Case> {
  const role = trainable === 'critic' ? 'critic' : 'policy';
  const folder = await loadModelFolder(join(fixtures, name, 'model'));
  const images = await Promise.all(
    ['0.png', '1.png'].map((file) =>
      folder.imageProcessor.process(readFileSync(join(fixtures, name, 'images', file))),
    ),
  );
  const config = {
    rank: 3,
    alpha: 6,
    targets: 'all-linear' as const,
    dropout: 0,
    vision: trainable === 'all',
  };
  const plan = trainable === 'full' ? undefined : planLora(folder.family, config);
  const weights = await initialWeights(folder, plan, 7, role);
  if (plan !== undefined) {
    let i = 0;
    for (const { data } of weights.tensors.values())
      data.forEach((_, at) => (data[at] += Math.sin(i++) / 20));
  }
  const parameters = (): ParameterSource =>
    new Parameters({
      weights: folder.weights,
      inputs: plan === undefined ? 'all' : isOfValueHead,
      lora: plan,
    });
  return { role, folder, images, plan, weights, parameters };
}

/** Two rows of different length with an image each, and some trained tokens. */
async function feedsOf({ folder, images, parameters, weights }: Case, pass: PassMode): Promise<Feeds> {
  const mode = imagesOf(pass);
  const { family } = folder;
  const { imageTokenId } = family.shape;
  const rows = images.map(({ tokens }, row) => {
    const words = Array.from({ length: 9 + 4 * row }, (_, i) => 10 + ((11 * i + row) % 150));
    const placeholders = mode === 'none' ? [] : new Array<number>(tokens).fill(imageTokenId);
    const tokenIds = [5, ...placeholders, ...words];
    const shown = mode === 'none' ? [] : [row];
    return { ...predictingNext(tokenIds, tokenIds.length - 7), images: shown, temperature: 1 + row / 2 };
  });
  const batch = family.trainerFeeds(rows, mode === 'none' ? [] : images, { images: mode });
  const count = batch.selected.length;
  const per = (value: (i: number) => number) =>
    tensor(
      'float32',
      Float32Array.from({ length: count }, (_, i) => value(i)),
    );
  const tokens = {
    old_logprobs: per((i) => -5 - Math.sin(i)),
    advantages: per((i) => Math.cos(i)),
    values: per((i) => Math.sin(i) / 2),
    returns: per((i) => Math.cos(i) / 2),
    [OBJECTIVE_INPUTS.weights]: per((i) => 0.1 + i / 100),
  };
  // Every other distribution is cut to its target and some other tokens.
  const kept = batch.selected.map(({ row, position }, i) =>
    i % 2 === 0
      ? []
      : [...new Set([3, 40 + i, 70, 80, 90, rows[row].targets[position]])].toSorted((a, b) => a - b),
  );
  const cut = pass === mode ? {} : cutFeeds(kept);
  const feeds = { ...batch.feeds, ...(await weights.feeds(memory)), ...tokens, ...cut };
  if (mode !== 'features') return feeds;
  const vision = new VisionEncoder(family, parameters, {
    session,
    memory,
    alone: false,
    patches: 4096,
    caches: new CacheMemory(0),
  });
  const encoded = await vision.featureFeeds(weights, images, batch.featureRows);
  await vision.release();
  return { ...feeds, ...encoded };
}

async function gradientsBy(runner: PassRunner, mode: PassMode, feeds: Feeds, { role, weights }: Case) {
  const loss = losses[role];
  const accumulated = await AccumulatedGradients.create(weights, memory);
  const first = await runner.train(mode, loss, feeds, accumulated);
  const second = await runner.train(mode, loss, feeds, accumulated);
  const scored = await runner.score(mode, feeds);
  await runner.release();
  const gradients = [...accumulated.names].map((name): [string, Float32Array] => {
    return [name, accumulated.get(name).data as Float32Array];
  });
  return { first, second, scored, accumulated: new Map(gradients) };
}

function largest(values: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < values.length; i++) most = Math.max(most, Math.abs(values[i]));
  return most;
}

type Combination = readonly [name: string, trainable: Trainable, mode: PassMode];

/**
 * For every family: all weights, in the image encoder and in the text model. The other choices rotate: families have
 * different towers and text models, but use features and adapters alike.
 */
const COMBINATIONS: readonly Combination[] = [
  ['qwen2-vl-a', 'full', 'patches'],
  ['qwen2-vl-a', 'text', 'features'],
  ['qwen2-vl-a', 'full', 'none'],
  ['qwen2-5-vl-b', 'full', 'patches'],
  ['qwen2-5-vl-b', 'all', 'patches'],
  ['qwen2-5-vl-b', 'text', 'none'],
  ['qwen3-vl-a', 'full', 'patches'],
  ['qwen3-vl-a', 'text', 'features'],
  // One family covers the difference, which is the head.
  ['qwen3-vl-a', 'critic', 'features'],
  ['qwen3-vl-a', 'text', 'none cut'],
  ['qwen3-vl-b', 'full', 'patches'],
  ['qwen3-vl-b', 'all', 'patches'],
  ['qwen3-vl-b', 'full', 'none'],
  ['qwen3-5-a', 'full', 'patches'],
  ['qwen3-5-a', 'text', 'none'],
  ['qwen3-5-a', 'critic', 'features'],
  ['qwen3-5-b', 'all', 'patches'],
  ['llava-b', 'full', 'patches'],
  ['llava-b', 'text', 'features'],
  ['llava-b', 'text', 'none'],
  ['llava-onevision-c', 'full', 'patches'],
  ['llava-onevision-c', 'all', 'patches'],
  ['llava-onevision-c', 'full', 'none'],
  // This family sums features, from a different number of parts than kept tokens.
  ['llava-onevision-c', 'full', 'patches cut'],
  ['idefics2-b', 'full', 'patches'],
  ['idefics2-b', 'all', 'patches'],
  ['idefics2-b', 'text', 'features'],
  ['internvl-a', 'full', 'patches'],
  ['internvl-b', 'all', 'patches'],
  ['internvl-b', 'text', 'features'],
  ['gemma3-a', 'full', 'patches'],
  ['gemma3-a', 'text', 'none'],
  ['gemma3-b', 'all', 'patches'],
  ['gemma3-b', 'text', 'features'],
];

const covered = new Set(COMBINATIONS.map(([name]) => familyNameOf(name)));
const others = readdirSync(fixtures).filter(
  (name) => name.endsWith('-a') && !covered.has(familyNameOf(name)),
);

function familyNameOf(fixture: string): string {
  return fixture.slice(0, fixture.lastIndexOf('-'));
}

test.each([...COMBINATIONS, ...others.map((name): Combination => [name, 'full', 'patches'])])(
  '%s layer by layer, with %s weights and %s, gives what the whole graph gives',
  async (name, trainable, mode) => {
    const subject = await load(name, trainable);
    const { role, parameters } = subject;
    const options = { role, family: subject.folder.family, parameters, session, memory, pause };
    const feeds = await feedsOf(subject, mode);
    const whole = await gradientsBy(new WholeGraph(options), mode, feeds, subject);
    // Memory for the logits of three tokens: the output layer runs in chunks.
    const headLogits = 3 * subject.folder.family.shape.vocabSize;
    const layers = await gradientsBy(new LayerByLayer(options, headLogits), mode, feeds, subject);
    expect(layers.first.loss).toBeCloseTo(whole.first.loss, 4);
    expect(layers.second.loss).toBeCloseTo(whole.first.loss, 4);
    expect(layers.first.metrics.clip_fraction).toBe(whole.first.metrics.clip_fraction);
    for (const key of ['scores', 'entropy'] as const) {
      const expected = whole.first[key];
      expect(layers.first[key]?.length).toBe(expected?.length);
      const gap = expected?.map((value, i) => value - layers.first[key]![i]) ?? [];
      expect(largest(gap)).toBeLessThan(2e-5);
    }
    expect(largest(layers.scored.map((value, i) => value - whole.scored[i]))).toBeLessThan(2e-5);
    // Some derivatives are 0, such as those of key biases: their values are rounding errors of the others.
    const rounding = 2e-7 * Math.max(1, ...Array.from(whole.accumulated.values(), largest));
    let reached = 0;
    for (const [weight, expected] of whole.accumulated) {
      const found = layers.accumulated.get(weight)!;
      const size = largest(expected);
      if (size > 0) reached++;
      const gap = largest(expected.map((value, i) => value - found[i]));
      expect([weight, gap <= 1e-4 * size + rounding]).toEqual([weight, true]);
    }
    expect(reached).toBeGreaterThan(10);
  },
);
