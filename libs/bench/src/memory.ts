import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalEngine, supervisedStep } from '@ui-rl/engine';
import { loadModelFolder, promptChunks } from '@ui-rl/models';
import { adapterOf, SUPERVISED } from './trained';
import { makeTurns } from './conversation';
import { ownPeakRss } from './measure';
import type { BenchOptions, PartResult } from './parts';

const ROWS = 24;
const NEW_TOKENS = 16;

/**
 * Memory of a process that works like the learner: one engine with an adapter, 24 rows generated concurrently, one
 * training step on the generated answers.
 */
export async function benchMemory({ modelDir, onProgress }: BenchOptions): Promise<PartResult> {
  const beforeBytes = ownPeakRss();
  const folder = await loadModelFolder(modelDir);
  const { imageTokenId } = folder.family.shape;
  const turns = await makeTurns(folder, ROWS);
  const longest = Math.max(...turns.map(({ tokenIds }) => tokenIds.length));
  const engine = await LocalEngine.start({
    modelDir,
    device: 'cpu',
    imageProcessor: folder.imageProcessor,
    models: [adapterOf(32)],
    maxRows: ROWS,
    maxSequence: longest + NEW_TOKENS,
    seed: 0,
  });
  try {
    await Promise.all(
      turns.map(({ tokenIds, promptTokens, images }, seed) =>
        engine.sample({
          model: 'policy',
          prompt: { chunks: promptChunks(tokenIds.slice(0, promptTokens), images, imageTokenId) },
          maxTokens: NEW_TOKENS,
          temperature: 1,
          topP: 1,
          seed,
        }),
      ),
    );
    const generatedBytes = ownPeakRss();
    await supervisedStep(engine, turns, { ...SUPERVISED, imageTokenId, learningRate: 1e-6 });
    const trainedBytes = ownPeakRss();
    const weightsBytes =
      (await stat(join(modelDir, 'model.safetensors')).catch(() => undefined))?.size ?? null;
    onProgress(
      `memory of one engine: ${megabytes(beforeBytes)} before, ${megabytes(generatedBytes)} after generating, ${megabytes(trainedBytes)} after training`,
    );
    return {
      ratios: {},
      details: { beforeBytes, generatedBytes, trainedBytes, weightsBytes },
      peakRssBytes: { memory: trainedBytes },
    };
  } finally {
    await engine.stop();
  }
}

function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}
