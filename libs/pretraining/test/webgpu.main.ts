// Child process of a spec: trains on the CPU and on WebGPU and writes what came of it as JSON.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Answerer, answeringWeights } from '../src/answering/answerer';
import type { GradientSums } from '../src/gradient-session';
import { readingHeads } from '../src/reading/heads';
import { Reader, readingWeights } from '../src/reading/reader';
import type { TrainedWeights, TrainingDevice } from '../src/trained-weights';
import { askedScreen, readScreens } from './samples';
import { writeTinyModel } from './write-tiny-model';

export interface Trained {
  norms: number[];
  losses: Record<string, number>[];
  weights: Record<string, number[]>;
}

export type Results = Record<'reading' | 'answering', Record<TrainingDevice, Trained>>;

const STEPS = 3;

interface Trainee {
  trained: TrainedWeights;
  accumulate: (sums: GradientSums) => Promise<object>;
  release: () => Promise<void>;
}

async function train({ trained, accumulate, release }: Trainee, file: string): Promise<Trained> {
  const norms: number[] = [];
  const losses: Record<string, number>[] = [];
  for (let step = 0; step < STEPS; step++) {
    const sums: GradientSums = new Map();
    losses.push((await accumulate(sums)) as Record<string, number>);
    norms.push(await trained.update(sums, 0.01));
    // Continues from its checkpoint.
    await trained.save(file);
    await trained.load(file);
  }
  const weights = Array.from(await trained.values(), ([name, { data }]) => [name, Array.from(data)]);
  await release();
  await trained.release();
  return { norms, losses, weights: Object.fromEntries(weights) as Record<string, number[]> };
}

async function main(dir: string): Promise<void> {
  const folder = await writeTinyModel(dir);
  const options = (device: TrainingDevice) => ({ device, matrices: 'muon' as const });
  const reading = async (device: TrainingDevice) => {
    const trained = await readingWeights(folder, readingHeads(), 1, options(device));
    const reader = new Reader(folder, readingHeads(), trained, 2);
    const screens = readScreens(folder, 3);
    return train(
      { trained, accumulate: (sums) => reader.accumulate(screens, sums), release: () => reader.release() },
      join(dir, 'reading.safetensors'),
    );
  };
  const answering = async (device: TrainingDevice) => {
    const trained = await answeringWeights(folder, options(device));
    const answerer = new Answerer(folder, trained);
    const screens = [askedScreen(folder)];
    return train(
      {
        trained,
        accumulate: (sums) => answerer.accumulate(screens, sums),
        release: () => answerer.release(),
      },
      join(dir, 'answering.safetensors'),
    );
  };
  const results: Results = {
    reading: { cpu: await reading('cpu'), webgpu: await reading('webgpu') },
    answering: { cpu: await answering('cpu'), webgpu: await answering('webgpu') },
  };
  writeFileSync(join(dir, 'results.json'), JSON.stringify(results));
}

void main(process.argv[2]);
