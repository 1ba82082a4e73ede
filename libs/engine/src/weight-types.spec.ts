import { mkdtemp, rm } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadModelFolder, type ModelFolder, type ProcessedImage } from '@ui-rl/models';
import { Engine } from '../test/token-engine';
import type { EngineOptions, Prompt, TrainSample } from '../test/token-types';

const root = join(__dirname, '../../..');
const shipped = join(root, 'deploy/local/model');
const brain = join(root, 'test/golden/fixtures/qwen3-vl-b');

let cacheDir: string;
let engine: Engine | undefined;

beforeAll(async () => {
  cacheDir = await mkdtemp(join(tmpdir(), 'uirl-weights-'));
});
afterEach(async () => {
  await engine?.stop();
  engine = undefined;
});
afterAll(() => rm(cacheDir, { recursive: true }));

async function start(modelDir: string, changes: Partial<EngineOptions>): Promise<Engine> {
  engine = await Engine.start({
    modelDir,
    device: 'cpu',
    trainable: { mode: 'lora', lora: { rank: 4, alpha: 8, targets: 'all-linear', dropout: 0 } },
    maxRows: 4,
    maxSequence: 160,
    threads: 2,
    seed: 1,
    cacheDir,
    ...changes,
  });
  return engine;
}

/** A prompt with an image where the folder has one to show. */
function promptOf({ family }: ModelFolder, image: ProcessedImage): Prompt {
  const placeholders = new Array<number>(image.tokens).fill(family.shape.imageTokenId);
  return { tokenIds: [10, ...placeholders, 11, 12, 13, 14], images: [image] };
}

async function answered(
  running: Engine,
  prompt: Prompt,
): Promise<{ sample: TrainSample; logprobs: number[] }> {
  const { tokenIds, logprobs } = await running.generate({
    prompt,
    maxTokens: 8,
    temperature: 1,
    topP: 1,
    seed: 5,
  });
  const before = Array.from(prompt.tokenIds);
  const all = [...before, ...tokenIds];
  const oldLogprobs = all.map((_, i) => logprobs[i - before.length] ?? 0);
  const mask = all.map((_, i) => Number(i >= before.length));
  return { sample: { tokenIds: all, images: prompt.images, mask, advantages: 1, oldLogprobs }, logprobs };
}

describe.each(['int4', 'int8'] as const)('a base in %s', (quantization) => {
  it.each(['off', 'on'] as const)(
    'is sampled and trained alike, layers one by one: %s',
    async (gradientCheckpointing) => {
      const folder = await loadModelFolder(shipped);
      const image = await folder.imageProcessor.process(readFileSync(join(brain, 'images/0.png')));
      const prompt = promptOf(folder, image);
      const running = await start(shipped, { quantization, gradientCheckpointing });
      const { sample, logprobs } = await answered(running, prompt);
      const [scored] = await running.logprobs([sample]);
      logprobs.forEach((logprob, i) => {
        expect(Math.abs(scored[scored.length - logprobs.length + i] - logprob)).toBeLessThan(1e-4);
      });
      const before = sample.oldLogprobs!.length;
      for (let step = 0; step < 3; step += 1) {
        await running.trainStep({
          samples: [sample],
          loss: { name: 'importance_sampling', aggregation: 'token-mean' },
          learningRate: 1e-2,
          maxGradNorm: 1,
        });
      }
      const [after] = await running.logprobs([sample]);
      const sum = (values: Float32Array): number =>
        values.slice(before - logprobs.length).reduce((a, b) => a + b, 0);
      expect(sum(after)).toBeGreaterThan(sum(scored) + 0.5);
    },
  );

  it('differs from the base it was made of, but not by much', async () => {
    const folder = await loadModelFolder(shipped);
    const image = await folder.imageProcessor.process(readFileSync(join(brain, 'images/0.png')));
    const { sample, logprobs } = await answered(await start(shipped, {}), promptOf(folder, image));
    await engine!.stop();
    const [scored] = await (await start(shipped, { quantization })).logprobs([sample]);
    const gaps = logprobs.map((logprob, i) =>
      Math.abs(scored[scored.length - logprobs.length + i] - logprob),
    );
    const largest = Math.max(...gaps);
    expect(largest).toBeGreaterThan(1e-4);
    expect(largest).toBeLessThan(quantization === 'int8' ? 0.3 : 3);
  });
});

it('refuses to quantize weights that are trained', async () => {
  await expect(start(shipped, { quantization: 'int4', trainable: { mode: 'full' } })).rejects.toThrow(
    /quantization is int4, but all weights are trained/,
  );
});

it.each(['bf16', 'fp16'] as const)(
  'weights held as %s give what their float32 values give',
  async (weights) => {
    const modelDir = join(brain, 'model');
    const folder = await loadModelFolder(modelDir);
    const image = await folder.imageProcessor.process(readFileSync(join(brain, 'images/0.png')));
    const prompt = promptOf(folder, image);
    const { sample, logprobs } = await answered(await start(modelDir, {}), prompt);
    await engine!.stop();
    const held = await start(modelDir, { weights, gradientCheckpointing: 'on' });
    const again = await answered(held, prompt);
    const [scored] = await held.logprobs([sample]);
    // Small bf16 numbers lose bits as fp16.
    const tolerance = weights === 'bf16' ? 1e-4 : 2e-3;
    logprobs.forEach((logprob, i) => {
      expect(Math.abs(scored[scored.length - logprobs.length + i] - logprob)).toBeLessThan(tolerance);
      if (weights === 'bf16') expect(Math.abs(again.logprobs[i] - logprob)).toBeLessThan(tolerance);
    });
  },
);
