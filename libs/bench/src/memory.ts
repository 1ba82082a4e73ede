import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Engine } from '@ui-rl/engine';
import { loadModelFolder } from '@ui-rl/models';
import { makeTurns } from './conversation';
import { ownPeakRss } from './measure';
import type { BenchOptions, PartResult } from './parts';

const ROWS = 24;
const NEW_TOKENS = 16;

/**
 * Memory of a process that does what the learner does: one engine with an adapter, 24 rows generated at once, one training
 * step over what they answered.
 */
export async function benchMemory({ modelDir, onProgress }: BenchOptions): Promise<PartResult> {
  const beforeBytes = ownPeakRss();
  const folder = await loadModelFolder(modelDir);
  const turns = await makeTurns(folder, ROWS);
  const longest = Math.max(...turns.map(({ tokenIds }) => tokenIds.length));
  const engine = await Engine.start({
    modelDir,
    device: 'cpu',
    trainable: { mode: 'lora', lora: { rank: 32, alpha: 64, targets: 'all-linear', dropout: 0 } },
    maxRows: ROWS,
    maxSequence: longest + NEW_TOKENS,
    seed: 0,
  });
  try {
    await Promise.all(
      turns.map(({ tokenIds, promptTokens, images }, seed) =>
        engine.generate({
          prompt: { tokenIds: tokenIds.slice(0, promptTokens), images },
          maxTokens: NEW_TOKENS,
          temperature: 1,
          topP: 1,
          seed,
        }),
      ),
    );
    const generatedBytes = ownPeakRss();
    await engine.trainStep({
      samples: turns.map(({ tokenIds, images, mask }) => ({ tokenIds, images, mask, advantages: 1 })),
      loss: { name: 'cross_entropy', aggregation: 'token-mean' },
      learningRate: 1e-6,
      maxGradNorm: 1,
    });
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
