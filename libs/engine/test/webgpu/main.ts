// Child process of a spec: runs all WebGPU checks and writes the results as JSON. One process, because a software
// driver spends most of its time compiling shaders.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deviceMemory, freeTensors, tensor } from '@ui-rl/graph';
import { golden, type Golden } from './golden';
import { caches } from './kv-caches';
import { manySteps, oneStep, type Step, type Steps } from './one-step';
import { residency } from './residency';

export interface Results {
  cpu: Steps;
  gpu: Steps;
  /** As one graph; checkpoints and answers are the same as layer by layer. */
  whole: Step;
  families: Record<string, Golden>;
  /** The error of an fp16 engine on a driver without fp16. */
  withoutHalf: string;
  caches: Awaited<ReturnType<typeof caches>>;
  residency: Awaited<ReturnType<typeof residency>>;
}

/** The device and its shaders live as long as it has a session. */
async function keepingShaders<T>(work: () => Promise<T>): Promise<T> {
  const memory = deviceMemory('webgpu');
  freeTensors(Object.values(await memory.upload({ any: tensor('float32', [1], [1]) })));
  try {
    return await work();
  } finally {
    await memory.release();
  }
}

async function results(fixture: string, families: readonly string[], folder: string): Promise<Results> {
  const layers = { gradientCheckpointing: 'on' } as const;
  const cpu = await manySteps(fixture, { device: 'cpu', ...layers }, join(folder, 'cpu'));
  const gpu = await manySteps(fixture, { device: 'webgpu', ...layers }, join(folder, 'gpu'));
  const whole = await oneStep(fixture, { device: 'webgpu', gradientCheckpointing: 'off' });
  const goldens: Record<string, Golden> = {};
  for (const name of families) goldens[name] = await golden(name, 'webgpu');
  const half = { compute: 'fp16', cacheDir: join(folder, 'cache') } as const;
  const withoutHalf = await golden(fixture, 'webgpu', half).then(
    () => 'nothing',
    (error: Error) => error.message,
  );
  const others = { caches: await caches(), residency: await residency(fixture) };
  return { cpu, gpu, whole, families: goldens, withoutHalf, ...others };
}

async function main([folder, fixture, ...families]: string[]): Promise<void> {
  const found = await keepingShaders(() => results(fixture, families, folder));
  writeFileSync(join(folder, 'results.json'), JSON.stringify(found));
}

void main(process.argv.slice(2));
