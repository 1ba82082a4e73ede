// Child process of a spec: an engine scores a golden conversation, takes training steps, goes back to a checkpoint and answers
// several prompts at once; results as JSON.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadModelFolder } from '@ui-rl/models';
import { Engine } from './token-engine';
import type { Device, TrainSample } from './token-types';

interface Golden {
  prompt_ids: number[];
  response_ids: number[];
}

async function main([fixture, device, gradientCheckpointing, folder]: string[]): Promise<void> {
  const modelDir = join(fixture, 'model');
  const golden = JSON.parse(readFileSync(join(fixture, 'expected.json'), 'utf8')) as Golden;
  const { imageProcessor } = await loadModelFolder(modelDir);
  const files = ['0.png', '1.png', '2.png'].map((name) => readFileSync(join(fixture, 'images', name)));
  const images = await Promise.all(files.map((png) => imageProcessor.process(png)));
  const tokenIds = [...golden.prompt_ids, ...golden.response_ids];
  const mask = tokenIds.map((_, i) => Number(i >= golden.prompt_ids.length));
  const sample: TrainSample = { tokenIds, images, mask, advantages: 1 };
  const engine = await Engine.start({
    modelDir,
    device: device as Device,
    trainable: { mode: 'lora', lora: { rank: 4, alpha: 8, targets: 'all-linear', dropout: 0 } },
    maxRows: 4,
    maxSequence: tokenIds.length + 8,
    threads: 2,
    seed: 1,
    gradientCheckpointing: gradientCheckpointing as 'on' | 'off',
  });
  const score = async (): Promise<number[]> => {
    const [all] = await engine.logprobs([sample]);
    return [...all.slice(golden.prompt_ids.length)];
  };
  const step = async (): Promise<{ loss: number; gradNorm: number }> => {
    const { metrics } = await engine.trainStep({
      samples: [sample],
      loss: { name: 'cross_entropy', aggregation: 'token-mean' },
      learningRate: 1e-2,
      maxGradNorm: 1,
    });
    return { loss: metrics['optim/loss'], gradNorm: metrics['optim/grad_norm'] };
  };
  const before = await score();
  const first = await step();
  const after = await score();
  const checkpoint = join(folder, `checkpoint-${device}-${gradientCheckpointing}`);
  await engine.save(checkpoint);
  await step();
  const twice = await score();
  await engine.load(checkpoint);
  await step();
  const again = await score();
  // Two samples of one prompt, a shorter prompt, and one more than there are rows.
  const prompts = [golden.prompt_ids, golden.prompt_ids, [5, 6, 7], [8, 9], golden.prompt_ids];
  const answers = await Promise.all(
    prompts.map(async (ids, index) => {
      const prompt = { tokenIds: ids, images: ids === golden.prompt_ids ? images : [] };
      return (await engine.generate({ prompt, maxTokens: 3 + index, temperature: 0, topP: 1, seed: 1 }))
        .tokenIds;
    }),
  );
  await engine.stop();
  const result = { before, ...first, after, twice, again, answers };
  writeFileSync(join(folder, `${device}.json`), JSON.stringify(result));
}

void main(process.argv.slice(2));
