import { byToken, datumOf, LocalEngine } from '@ui-rl/engine';
import { loadModelFolder, type ModelFolder, type ProcessedImage, type RenderedSample } from '@ui-rl/models';
import type { Datum, TrainedModel } from '@ui-rl/plugin-kit';
import { adapterOf } from './trained';
import { makeTurns } from './conversation';
import { trainStepFlops, type TrainedPart } from './flops';
import { MatrixProducts } from './matmul';
import { alternate, median, medianRatio, ownPeakRss, timed } from './measure';
import type { BenchOptions, PartResult } from './parts';

const SAMPLES = 128;
const LORA_RANK = 32;

/** The trained weights, as configured by a user. */
const KINDS: Record<'full' | 'lora', { model: TrainedModel; part: TrainedPart }> = {
  full: {
    model: { name: 'policy', role: 'policy', trainable: { mode: 'full' } },
    part: { mode: 'full' },
  },
  lora: { model: adapterOf(LORA_RANK), part: { mode: 'lora', rank: LORA_RANK } },
};

/**
 * One optimizer step over 128 turns, each with its own screenshot: forward, backward, gradient accumulation,
 * clipping, AdamW, and the transfer to the device worker and back. Reports its operations per second relative to
 * plain matrix products in the same minute.
 */
export async function benchTraining({ modelDir, quick, onProgress }: BenchOptions): Promise<PartResult> {
  const folder = await loadModelFolder(modelDir);
  const turns = await makeTurns(folder, SAMPLES);
  const products = await MatrixProducts.prepare();
  const rounds = quick ? 3 : 12;
  const details: Record<string, unknown> = {};
  const ratios: Partial<Record<keyof typeof KINDS, number>> = {};
  for (const kind of ['full', 'lora'] as const) {
    const figures = await benchKind(kind, folder, turns, products, rounds);
    details[kind] = figures;
    ratios[kind] = figures.ratio;
    onProgress(
      `training step, ${kind === 'full' ? 'all weights' : `adapter of rank ${LORA_RANK}`}: ` +
        `${figures.ratio.toFixed(2)} of the matrix-product rate ` +
        `(${figures.gflopsPerSecond.toFixed(0)} of ${figures.matmulGflopsPerSecond.toFixed(0)} GFLOP/s, ` +
        `${figures.stepMs.toFixed(0)} ms for ${SAMPLES} turns)`,
    );
  }
  return { ratios: { train_vs_matmul: ratios.full }, details, peakRssBytes: { train: ownPeakRss() } };
}

interface TrainingFigures {
  ratio: number;
  gflopsPerSecond: number;
  matmulGflopsPerSecond: number;
  stepMs: number;
  gflopPerStep: number;
}

async function benchKind(
  kind: keyof typeof KINDS,
  folder: ModelFolder,
  turns: readonly RenderedSample[],
  products: MatrixProducts,
  rounds: number,
): Promise<TrainingFigures> {
  const { model, part } = KINDS[kind];
  const maxSequence = Math.max(...turns.map(({ tokenIds }) => tokenIds.length));
  const engine = await LocalEngine.start({
    modelDir: folder.dir,
    imageProcessor: folder.imageProcessor,
    device: 'cpu',
    models: [model],
    maxRows: 1,
    maxSequence,
    seed: 0,
  });
  try {
    const data = await withOldLogprobs(engine, folder, turns);
    const step = async (): Promise<void> => {
      await engine.forwardBackward({ model: 'policy', data, loss: { name: 'importance_sampling' } });
      const optimizer = { name: 'adamw' };
      await engine.optimStep({ model: 'policy', optimizer, learningRate: 1e-6, maxGradNorm: 1 });
    };
    await step();
    const flops = trainStepFlops(modelCost(folder, turns), stepCost(turns), part);
    const [stepMs, matmul] = await alternate(rounds, [() => timed(step), () => products.rate()]);
    const rates = stepMs.map((milliseconds) => flops / milliseconds / 1e6);
    return {
      ratio: medianRatio(rates, matmul),
      gflopsPerSecond: median(rates),
      matmulGflopsPerSecond: median(matmul),
      stepMs: median(stepMs),
      gflopPerStep: flops / 1e9,
    };
  } finally {
    await engine.stop();
  }
}

/** Treats the answers as sampled by the policy itself, some good and some bad. */
async function withOldLogprobs(
  engine: LocalEngine,
  { family }: ModelFolder,
  turns: readonly RenderedSample[],
): Promise<Datum[]> {
  const { imageTokenId } = family.shape;
  const trained = turns.reduce((count, { mask }) => count + mask.filter(Boolean).length, 0);
  const scored = turns.map((turn) => datumOf(turn, { imageTokenId }));
  const { logprobs } = await engine.forward({ model: 'policy', data: scored });
  return turns.map((turn, index) =>
    datumOf(turn, {
      imageTokenId,
      weight: 1 / trained,
      temperature: 1,
      lossInputs: {
        advantages: Array.from(turn.mask, () => (index % 2 === 0 ? 1 : -1)),
        old_logprobs: byToken(logprobs[index]).map((value) => (Number.isNaN(value) ? 0 : value)),
      },
    }),
  );
}

function modelCost(
  { family, config }: ModelFolder,
  turns: readonly RenderedSample[],
): Parameters<typeof trainStepFlops>[0] {
  const { in_channels: channels = 3 } = (config.vision_config ?? {}) as { in_channels?: number };
  const { grid, tokens } = turns.flatMap(({ images }) => images)[0];
  return {
    linears: family.linears(),
    hiddenSize: family.shape.hiddenSize,
    vocabSize: family.shape.vocabSize,
    patchSize: channels * family.shape.patchSize ** 2,
    patchesPerToken: patchCount(grid) / tokens,
  };
}

function patchCount([pictures, rows, columns]: ProcessedImage['grid']): number {
  return pictures * rows * columns;
}

function stepCost(turns: readonly RenderedSample[]): Parameters<typeof trainStepFlops>[1] {
  const images = new Map(turns.flatMap((turn) => turn.images.map((image) => [image.key, image.grid])));
  return {
    samples: turns.map(({ tokenIds, mask }) => ({
      tokens: tokenIds.length,
      trained: Array.from(mask, (trained, place) => (trained === 1 ? place : -1)).filter(
        (place) => place >= 0,
      ),
    })),
    images: Array.from(images.values(), (grid) => ({ patches: patchCount(grid) })),
  };
}
