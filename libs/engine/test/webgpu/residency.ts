import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadModelFolder } from '@ui-rl/models';
import type { OptimStepRequest } from '@ui-rl/plugin-kit';
import { InferenceSession, type Tensor } from 'onnxruntime-node';
import { DeviceWorker } from '../../src/device-worker';
import type { ResolvedInput, TrainingDatum } from '../../src/training/data';
import type { WorkerForwardBackwardRequest, WorkerOptions, WorkerSampleRequest } from '../../src/worker-api';
import { fixtures } from '../test-model';

type Phase = 'start' | 'sampling' | 'training';

/** Names of inputs that were fed from the host, by phase. */
const fromHost: Record<Phase, string[]> = { start: [], sampling: [], training: [] };
let phase: Phase = 'start';

type Run = (feeds: Record<string, Tensor>, ...rest: unknown[]) => Promise<unknown>;

/** Patches sessions for the rest of the process. */
function watchSessions(): void {
  const create = InferenceSession.create.bind(InferenceSession) as (
    ...all: unknown[]
  ) => Promise<InferenceSession>;
  (InferenceSession as unknown as { create: unknown }).create = async (...all: unknown[]) => {
    const session = await create(...all);
    const run = session.run.bind(session) as Run;
    (session as unknown as { run: Run }).run = (feeds, ...rest) => {
      const names = Object.entries(feeds).filter(([, each]) => each.location === 'cpu');
      const known = fromHost[phase];
      for (const [name] of names) if (!known.includes(name)) known.push(name);
      return run(feeds, ...rest);
    };
    return session;
  };
}

/** The session inputs that come from the host while an engine samples and trains on the device. */
export async function residency(fixture: string): Promise<Record<Phase, string[]>> {
  watchSessions();
  const modelDir = join(fixtures, fixture, 'model');
  const { imageProcessor, family } = await loadModelFolder(modelDir);
  const image = await imageProcessor.process(readFileSync(join(fixtures, fixture, 'images', '0.png')));
  const worker = new DeviceWorker();
  const options: WorkerOptions = {
    modelDir,
    device: 'webgpu',
    models: [
      {
        name: 'policy',
        role: 'policy',
        trainable: {
          mode: 'lora',
          lora: { rank: 4, alpha: 8, targets: 'all-linear', dropout: 0, vision: false, rslora: false },
        },
      },
    ],
    maxRows: 4,
    maxSequence: 96,
    threads: 2,
    seed: 1,
    deterministic: false,
    componentFiles: [],
    gradientCheckpointing: 'off',
  };
  await worker.handle('start', options);
  const placeholders = new Array<number>(image.tokens).fill(family.shape.imageTokenId);
  const promptOf = (first: number): ResolvedInput => ({
    tokenIds: [first, 90, ...placeholders, 91, 7],
    images: [image],
  });
  const generate = (first: number, seed: number): Promise<unknown> =>
    worker.handle('sample', {
      id: seed,
      model: 'policy',
      prompt: promptOf(first),
      maxTokens: 2 + seed,
      temperature: 1,
      topP: 1,
      seed,
    } satisfies WorkerSampleRequest);
  const data = [11, 12].map((first): TrainingDatum => {
    const { tokenIds, images } = promptOf(first);
    const all = [...Array.from(tokenIds), 20];
    return {
      tokenIds: all,
      images,
      targets: [...all.slice(1), 30],
      weights: all.map((_, i) => (i >= all.length - 2 ? 1 / 4 : 0)),
      lossInputs: {},
      temperature: 1,
    };
  });
  const train = async (): Promise<void> => {
    const loss = { name: 'cross_entropy' };
    await worker.handle('forwardBackward', {
      model: 'policy',
      data,
      loss,
    } satisfies WorkerForwardBackwardRequest);
    await worker.handle('optimStep', {
      model: 'policy',
      optimizer: { name: 'adamw' },
      learningRate: 1e-2,
      maxGradNorm: 1,
    } satisfies OptimStepRequest);
  };
  const sample = (): Promise<unknown> => Promise.all([generate(5, 0), generate(6, 1), generate(5, 2)]);
  await sample();
  await train();
  phase = 'sampling';
  await sample();
  phase = 'training';
  await train();
  await worker.handle('stop', undefined);
  return fromHost;
}
