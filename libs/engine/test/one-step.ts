// Child process of a spec: one engine scores a golden conversation, takes a training step and answers; results as JSON.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadModelFolder } from '@ui-rl/models';
import { Engine, type Device, type TrainSample } from '../src';

interface Golden {
  prompt_ids: number[];
  response_ids: number[];
}

async function main([fixture, device, output]: string[]): Promise<void> {
  const modelDir = join(fixture, 'model');
  const golden = JSON.parse(readFileSync(join(fixture, 'expected.json'), 'utf8')) as Golden;
  const folder = await loadModelFolder(modelDir);
  const files = ['0.png', '1.png', '2.png'].map((name) => readFileSync(join(fixture, 'images', name)));
  const images = await Promise.all(files.map((png) => folder.imageProcessor.process(png)));
  const tokenIds = [...golden.prompt_ids, ...golden.response_ids];
  const mask = tokenIds.map((_, i) => Number(i >= golden.prompt_ids.length));
  const sample: TrainSample = { tokenIds, images, mask, advantages: 1 };
  const engine = await Engine.start({
    modelDir,
    device: device as Device,
    trainable: { mode: 'lora', lora: { rank: 4, alpha: 8, targets: 'all-linear', dropout: 0 } },
    maxRows: 1,
    maxSequence: tokenIds.length + 8,
    threads: 2,
    seed: 1,
    gradientCheckpointing: 'on',
  });
  const [before] = await engine.logprobs([sample]);
  const { metrics } = await engine.trainStep({
    samples: [sample],
    loss: { name: 'cross_entropy', aggregation: 'token-mean' },
    learningRate: 1e-2,
    maxGradNorm: 1,
  });
  const [after] = await engine.logprobs([sample]);
  const prompt = { tokenIds: golden.prompt_ids, images };
  const answer = await engine.generate({ prompt, maxTokens: 4, temperature: 0, topP: 1, seed: 1 });
  await engine.stop();
  const response = (logprobs: Float32Array): number[] => [...logprobs.slice(golden.prompt_ids.length)];
  const { 'optim/loss': loss, 'optim/grad_norm': gradNorm } = metrics;
  const result = {
    before: response(before),
    after: response(after),
    loss,
    gradNorm,
    answer: answer.tokenIds,
  };
  writeFileSync(output, JSON.stringify(result));
}

void main(process.argv.slice(3));
