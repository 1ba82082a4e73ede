// Child process of a spec: which inputs of sessions come from the host while an engine samples and trains on a device, as JSON.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadModelFolder, type ProcessedImage } from '@ui-rl/models';
import { InferenceSession, type Tensor } from 'onnxruntime-node';
import type { EngineOptions, TrainSample } from '../src';
import { DeviceWorker } from '../src/device-worker';

/** Names of inputs that were fed from the host, by what was going on. */
const fromHost: Record<string, string[]> = {};
let phase = 'start';

type Run = (feeds: Record<string, Tensor>, ...rest: unknown[]) => Promise<unknown>;

async function watchSessions(): Promise<void> {
  const create = InferenceSession.create.bind(InferenceSession) as (
    ...all: unknown[]
  ) => Promise<InferenceSession>;
  (InferenceSession as unknown as { create: unknown }).create = async (...all: unknown[]) => {
    const session = await create(...all);
    const run = session.run.bind(session) as Run;
    (session as unknown as { run: Run }).run = (feeds, ...rest) => {
      const names = Object.entries(feeds).filter(([, each]) => each.location === 'cpu');
      const known = (fromHost[phase] ??= []);
      for (const [name] of names) if (!known.includes(name)) known.push(name);
      return run(feeds, ...rest);
    };
    return session;
  };
}

async function main([fixture, output]: string[]): Promise<void> {
  await watchSessions();
  const modelDir = join(fixture, 'model');
  const { imageProcessor, family } = await loadModelFolder(modelDir);
  const image = await imageProcessor.process(readFileSync(join(fixture, 'images', '0.png')));
  const worker = new DeviceWorker();
  const options: EngineOptions = {
    modelDir,
    device: 'webgpu',
    trainable: { mode: 'lora', lora: { rank: 4, alpha: 8, targets: 'all-linear', dropout: 0 } },
    maxRows: 4,
    maxSequence: 96,
    threads: 2,
    seed: 1,
    gradientCheckpointing: 'off',
  };
  await worker.handle('start', options);
  const placeholders = new Array<number>(image.tokens).fill(family.shape.imageTokenId);
  const promptOf = (first: number): { tokenIds: number[]; images: ProcessedImage[] } => ({
    tokenIds: [first, 90, ...placeholders, 91, 7],
    images: [image],
  });
  const generate = (first: number, seed: number): Promise<unknown> =>
    worker.handle('generate', {
      prompt: promptOf(first),
      maxTokens: 4 + seed,
      temperature: 1,
      topP: 1,
      seed,
    });
  const samples = [11, 12].map((first): TrainSample => {
    const { tokenIds, images } = promptOf(first);
    const all = [...tokenIds, 20, 30];
    return { tokenIds: all, images, mask: all.map((_, i) => Number(i >= tokenIds.length)), advantages: 1 };
  });
  const train = (): Promise<unknown> =>
    worker.handle('trainStep', {
      samples,
      loss: { name: 'cross_entropy', aggregation: 'token-mean' },
      learningRate: 1e-2,
      maxGradNorm: 1,
    });
  const sample = (): Promise<unknown> => Promise.all([generate(5, 0), generate(6, 1), generate(5, 2)]);
  await sample();
  await train();
  phase = 'sampling';
  await sample();
  phase = 'training';
  await train();
  await worker.handle('stop', undefined);
  writeFileSync(output, JSON.stringify(fromHost));
}

void main(process.argv.slice(3));
