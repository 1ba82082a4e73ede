import { join } from 'node:path';
import { LocalEngine, datumOf } from '@ui-rl/engine';
import {
  loadImageProcessor,
  loadPromptFolder,
  promptChunks,
  type ProcessedImage,
  type PromptFolder,
} from '@ui-rl/models';
import type { Datum, TrainedModel } from '@ui-rl/plugin-kit';
import sharp from 'sharp';
import { VARIANTS, type Tell, type Variant } from './lines';
import { folderOf, type ModelName } from './models';

interface Load {
  screen: { width: number; height: number };
  /** sequences of a training step */
  sequences: number;
  /** tokens after the image, and the number of trained ones */
  words: number;
  trained: number;
  /** concurrently sampled sequences, and the length of their answers */
  rows: readonly number[];
  newTokens: number;
}

const LOADS: Record<ModelName, Load> = {
  small: {
    screen: { width: 160, height: 224 },
    sequences: 128,
    words: 50,
    trained: 16,
    rows: [1, 8, 64],
    newTokens: 64,
  },
  '256M': {
    screen: { width: 1008, height: 700 },
    sequences: 4,
    words: 100,
    trained: 40,
    rows: [1, 8],
    newTokens: 64,
  },
  '2B': {
    screen: { width: 1008, height: 700 },
    sequences: 2,
    words: 100,
    trained: 40,
    rows: [1, 4],
    newTokens: 32,
  },
  'two layers': {
    screen: { width: 112, height: 112 },
    sequences: 1,
    words: 10,
    trained: 4,
    rows: [1],
    newTokens: 2,
  },
};

const QUICK: Partial<Record<ModelName, Partial<Load>>> = {
  small: { sequences: 4, rows: [1, 4], newTokens: 8 },
};

const RANK = 16;
const ADAPTER: TrainedModel = {
  name: 'policy',
  role: 'policy',
  trainable: {
    mode: 'lora',
    lora: { rank: RANK, alpha: 2 * RANK, targets: 'all-linear', dropout: 0, vision: false, rslora: false },
  },
};

export interface MeasureOptions {
  /** folder of the models */
  dir: string;
  model: ModelName;
  variant: Variant;
  quick: boolean;
  tell: Tell;
}

/** Memory for all screenshots of a load, so that no measurement processes one again. */
const IMAGE_BYTES = 2 ** 30;

/** A LoRA training step and tokens per second, on one device. */
export async function measure({ dir, model, variant, quick, tell }: MeasureOptions): Promise<void> {
  const load = { ...LOADS[model], ...(quick ? QUICK[model] : {}) };
  const folder = await promptFolder(folderOf(dir, model));
  const sequences = await Promise.all(
    Array.from({ length: Math.max(load.sequences, ...load.rows) }, (_, i) => sequence(folder, load, i)),
  );
  const figure = (what: string, unit: string, value: number): void =>
    tell({ kind: 'figure', model, variant, what, unit, value });
  const began = performance.now();
  const engine = await LocalEngine.start({
    ...VARIANTS[variant],
    modelDir: folder.dir,
    imageProcessor: folder.imageProcessor,
    models: [ADAPTER],
    maxRows: Math.max(...load.rows),
    maxSequence: sequences[0].tokenIds.length + load.newTokens,
    seed: 0,
    cacheDir: join(dir, 'cache'),
    // Prefill prompts in every round; images are encoded in the first one.
    sharePrefixes: false,
  });
  try {
    const bench = { engine, folder, load, sequences, quick };
    await generation(bench, figure);
    await training(bench, figure);
    const { times } = await engine.info();
    const { decodeMs, prefillMs, visionMs, trainMs } = times as Record<string, number | undefined>;
    const shares = {
      'decoding tokens': decodeMs,
      'reading prompts': prefillMs,
      images: visionMs,
      training: trainMs,
    };
    tell({
      kind: 'shares',
      model,
      variant,
      what: 'all that was measured',
      unit: 'ms',
      shares: known(shares),
    });
    figure('host memory, at its peak', 'MiB', process.resourceUsage().maxRSS / 1024);
    figure('measuring all this', 's', (performance.now() - began) / 1000);
  } finally {
    await engine.stop();
  }
}

async function promptFolder(dir: string): Promise<PromptFolder> {
  const folder = await loadPromptFolder(dir);
  return {
    ...folder,
    imageProcessor: await loadImageProcessor(dir, folder.family, { cacheBytes: IMAGE_BYTES }),
  };
}

interface Sequence {
  tokenIds: number[];
  promptTokens: number;
  images: ProcessedImage[];
  mask: number[];
}

interface Bench {
  engine: LocalEngine;
  folder: PromptFolder;
  load: Load;
  sequences: readonly Sequence[];
  quick: boolean;
}

type Figure = (what: string, unit: string, value: number) => void;

async function training({ engine, folder, load, sequences, quick }: Bench, figure: Figure): Promise<void> {
  const trained = sequences.slice(0, load.sequences);
  const data = trained.map((each): Datum => {
    const { imageTokenId } = folder.family.shape;
    return datumOf(each, { imageTokenId, weight: 1 / (load.trained * trained.length) });
  });
  const tokens = trained.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
  const passes = async (): Promise<unknown> =>
    engine.forwardBackward({ model: 'policy', data, loss: { name: 'cross_entropy' } });
  const step = async (): Promise<unknown> =>
    engine.optimStep({ model: 'policy', optimizer: { name: 'adamw' }, learningRate: 1e-6, maxGradNorm: 1 });
  const both = async () => ({ passes: await timed(passes), step: await timed(step) });
  const first = await both();
  figure('first training step, sessions made within it', 's', (first.passes + first.step) / 1000);
  const times = await repeated(first, first.passes, quick, both);
  const [forwardBackward, optimizer] = [median(times, 'passes'), median(times, 'step')];
  figure(
    `training step, ${trained.length} × ${trained[0].tokenIds.length} tokens`,
    'ms',
    forwardBackward + optimizer,
  );
  figure('of it the optimizer', 'ms', optimizer);
  figure('training', 'tokens/s', (1000 * tokens) / (forwardBackward + optimizer));
}

async function generation({ engine, folder, load, sequences, quick }: Bench, figure: Figure): Promise<void> {
  const { imageTokenId } = folder.family.shape;
  const generate = async (rows: number): Promise<{ rate: number; ms: number }> => {
    const requests = sequences.slice(0, rows).map(
      ({ tokenIds, promptTokens, images }, seed) =>
        () =>
          engine.sample({
            model: 'policy',
            prompt: { chunks: promptChunks(tokenIds.slice(0, promptTokens), images, imageTokenId) },
            maxTokens: load.newTokens,
            temperature: 1,
            topP: 1,
            seed,
          }),
    );
    const began = performance.now();
    const answers = await Promise.all(requests.map((request) => request()));
    const ms = performance.now() - began;
    const tokens = answers.reduce((sum, answer) => sum + answer.tokens.length, 0);
    return { rate: (1000 * tokens) / ms, ms };
  };
  for (const rows of load.rows) {
    const first = await generate(rows);
    if (rows === load.rows[0]) figure('first answer, sessions made within it', 's', first.ms / 1000);
    const rates = await repeated(first, first.ms, quick, () => generate(rows));
    const prompt = `${rows} at once, prompts of ${sequences[0].promptTokens} tokens read`;
    figure(`sampling, ${prompt}`, 'tokens/s', median(rates, 'rate'));
  }
}

/** A screenshot followed by words, the last of which are trained. */
async function sequence(
  { family, imageProcessor }: PromptFolder,
  { screen, words, trained }: Load,
  number: number,
): Promise<Sequence> {
  const image = await imageProcessor.process(await screenshot(screen, number));
  const { vocabSize, imageTokenId } = family.shape;
  const text = Array.from(
    { length: words },
    (_, i) => 10 + ((37 * i + number) % Math.min(150, vocabSize - 10)),
  );
  const tokenIds = [1, ...new Array<number>(image.tokens).fill(imageTokenId), ...text];
  const promptTokens = tokenIds.length - trained;
  return {
    tokenIds,
    promptTokens,
    images: [image],
    mask: tokenIds.map((_, place) => Number(place >= promptTokens)),
  };
}

/** Stripes, different for each number. */
async function screenshot({ width, height }: Load['screen'], number: number): Promise<Buffer> {
  const pixels = Uint8Array.from({ length: width * height * 3 }, (_, i) => (i * (7 + number)) >> 4);
  return sharp(Buffer.from(pixels), { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
}

const REPEATS = 3;
/** No further repetition begins after this time. */
const LONG_MS = 10_000;
/** If the first time takes longer, its result must suffice, though sessions were made within it. */
const TOO_LONG_MS = 60_000;

/** Repeats a measurement after the first result. */
async function repeated<T>(first: T, firstMs: number, quick: boolean, thing: () => Promise<T>): Promise<T[]> {
  if (firstMs > TOO_LONG_MS) return [first];
  const found: T[] = [];
  const most = quick ? 1 : REPEATS;
  const began = performance.now();
  do found.push(await thing());
  while (found.length < most && performance.now() - began < LONG_MS);
  return found;
}

function median<Key extends string>(all: readonly Readonly<Record<Key, number>>[], key: Key): number {
  const sorted = all.map((each) => each[key]).toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

/** Duration in milliseconds. */
async function timed(thing: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await thing();
  return performance.now() - began;
}

function known(shares: Readonly<Record<string, number | undefined>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(shares).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
