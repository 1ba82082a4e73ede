import { LocalEngine, supervisedStep, type TrainedSequence } from '@ui-rl/engine';
import { loadModelFolder, type ModelFolder, type ProcessedImage } from '@ui-rl/models';
import sharp from 'sharp';
import { adapterOf, SUPERVISED } from './trained';
import { ownPeakRss, ownPrivateBytes, timed } from './measure';
import type { BenchOptions, PartResult } from './parts';

const SAMPLES = 2;
const TEXT_TOKENS = 100;
const TRAINED_TOKENS = 40;
const SCREEN = { width: 1008, height: 700 };
const LORA_RANK = 16;

/**
 * One training step with LoRA on every linear layer of a large model, over two samples with their own screenshots
 * (about 1,000 tokens each at 28 pixels per token), from a cold start: includes creating sessions and reading files.
 */
export async function benchDeep({
  modelDir,
  quantization,
  device,
  onProgress,
}: BenchOptions): Promise<PartResult> {
  const folder = await loadModelFolder(modelDir);
  const samples = await makeSamples(folder);
  const tokens = samples.map(({ tokenIds }) => tokenIds.length);
  const memory = new MemoryWatch();
  const engine = await LocalEngine.start({
    modelDir,
    imageProcessor: folder.imageProcessor,
    device,
    models: [adapterOf(LORA_RANK)],
    maxRows: 1,
    maxSequence: Math.max(...tokens),
    seed: 0,
    quantization,
    onProgress,
  });
  try {
    const stepMs = await timed(() =>
      supervisedStep(engine, samples, {
        ...SUPERVISED,
        imageTokenId: folder.family.shape.imageTokenId,
        learningRate: 1e-4,
      }),
    );
    const peakAnonBytes = memory.stop();
    const peakRss = ownPeakRss();
    onProgress(
      `training step of ${folder.family.name} (${billions(folder)} billion weights, base ${quantization === 'none' ? 'as stored' : `in ${quantization}`}): ` +
        `${(stepMs / 1000).toFixed(0)} s for samples of ${tokens.join(' and ')} tokens, ` +
        `peak memory ${gib(peakRss)}, of it private ${gib(peakAnonBytes)}`,
    );
    return {
      ratios: {},
      details: {
        quantization,
        tokens,
        stepMs,
        peakAnonBytes,
        trainedTokens: TRAINED_TOKENS,
        rank: LORA_RANK,
      },
      peakRssBytes: { deep: peakRss },
    };
  } finally {
    memory.stop();
    await engine.stop();
  }
}

async function makeSamples(folder: ModelFolder): Promise<TrainedSequence[]> {
  const { imageTokenId } = folder.family.shape;
  const samples: TrainedSequence[] = [];
  for (let index = 0; index < SAMPLES; index += 1) {
    const image = await makeScreen(folder, index);
    const words = Array.from({ length: TEXT_TOKENS }, (_, i) => 100 + ((37 * i + index) % 500));
    const tokenIds = [1, ...new Array<number>(image.tokens).fill(imageTokenId), ...words];
    const mask = tokenIds.map((_, token) => Number(token >= tokenIds.length - TRAINED_TOKENS));
    samples.push({ tokenIds, images: [image], mask });
  }
  return samples;
}

/** A screenshot of stripes, different for each number. */
async function makeScreen(folder: ModelFolder, number: number): Promise<ProcessedImage> {
  const { width, height } = SCREEN;
  const pixels = Buffer.from(
    Uint8Array.from({ length: width * height * 3 }, (_, i) => (i * (7 + number)) >> 4),
  );
  const png = await sharp(pixels, { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
  return folder.imageProcessor.process(png);
}

/** Tracks the private memory of this process; 0 if the system has no /proc. */
class MemoryWatch {
  private peak = 0;
  private readonly timer = setInterval(() => this.look(), 50);

  stop(): number {
    clearInterval(this.timer);
    this.look();
    return this.peak;
  }

  private look(): void {
    this.peak = Math.max(this.peak, ownPrivateBytes());
  }
}

function billions({ family }: ModelFolder): string {
  const count = family.parameters().reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  return (count / 1e9).toFixed(1);
}

function gib(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}
