// Child process of a spec: an optimizer's step over many weights on WebGPU, and mixed tensors there and back.
import { components } from '@ui-rl/algorithms';
import { deviceMemory, freeTensors, tensor, type DeviceMemory, type Tensor } from '@ui-rl/graph';
import type { OptimizerComponent } from '@ui-rl/plugin-kit';
import { InferenceSession } from 'onnxruntime-node';
import { AccumulatedGradients } from '../../src/training/accumulated-gradients';
import { DeviceSteps } from '../../src/training/device-steps';
import { HostSteps } from '../../src/training/host-steps';
import type { ChosenOptimizer, OptimizerSteps } from '../../src/training/optimizer-steps';
import { WeightSet } from '../../src/weights/weight-set';

/** As many as an adapter for all linear layers of a model with 28 layers has. */
const WEIGHTS = 392;

export interface ManyWeights {
  /** numbers after two steps, on each device: weights, then the state of the optimizer */
  gpu: number[];
  cpu: number[];
  /** session runs of the second step, and of reading the state */
  runs: { step: number; arrays: number };
  mixed: { sent: number[][]; found: number[][]; dims: number[][]; runs: number };
}

let runs = 0;

/** Counts the runs of sessions for the rest of the process. */
function countRuns(): void {
  const create = InferenceSession.create.bind(InferenceSession) as (
    ...all: unknown[]
  ) => Promise<InferenceSession>;
  (InferenceSession as unknown as { create: unknown }).create = async (...all: unknown[]) => {
    const session = await create(...all);
    const run = session.run.bind(session) as (...all: unknown[]) => Promise<unknown>;
    (session as unknown as { run: unknown }).run = (...each: unknown[]) => {
      runs += 1;
      return run(...each);
    };
    return session;
  };
}

async function counted<T>(work: () => Promise<T>): Promise<{ result: T; count: number }> {
  const before = runs;
  const result = await work();
  return { result, count: runs - before };
}

function numbers(length: number, seed: number): Float32Array {
  return Float32Array.from({ length }, (_, i) => Math.sin(seed + 7 * i));
}

function adamw(): ChosenOptimizer {
  const component = components.find(
    ({ kind, name }) => kind === 'optimizer' && name === 'adamw',
  ) as OptimizerComponent<object>;
  const options = { beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weight_decay: 0.01 };
  return { name: 'adamw', key: 'adamw', optimizer: component.create(options, {}) };
}

async function twoSteps(memory: DeviceMemory, steps: OptimizerSteps) {
  const shapes = Array.from({ length: WEIGHTS }, (_, i) => [1 + (i % 3), 2 + (i % 5)]);
  const named = shapes.map((shape, i) => [`weight ${i}`, shape, shape[0] * shape[1]] as const);
  let weights = new WeightSet(
    0,
    new Map(named.map(([name, shape, size], i) => [name, { shape: [...shape], data: numbers(size, i) }])),
  );
  let count = 0;
  for (let step = 1; step <= 2; step += 1) {
    const gradients = await AccumulatedGradients.create(weights, memory);
    for (const [i, [name, shape, size]] of named.entries()) {
      const { sum } = await memory.upload({ sum: tensor('float32', numbers(size, step + 3 * i), shape) });
      gradients.replace(name, sum);
    }
    const options = { chosen: adamw(), step, learningRate: 0.01, maxNorm: 1 };
    const stepped = await counted(() => steps.step(weights, gradients, options));
    ({ count } = stepped);
    gradients.release();
    await weights.free();
    weights = stepped.result.weights;
  }
  const state = await counted(() => steps.arrays());
  const all = [
    ...[...weights.tensors.values()].flatMap(({ data }) => Array.from(data)),
    ...[...state.result.values()].flatMap((own) => Object.values(own).flatMap((data) => Array.from(data))),
  ];
  await weights.free();
  await steps.release();
  return { all, step: count, arrays: state.count };
}

/** Tensors of several types and numbers of axes. */
async function mixed(memory: DeviceMemory): Promise<ManyWeights['mixed']> {
  const sent: Record<string, Tensor> = {
    a: tensor('float32', [1.5], []),
    b: tensor('float32', [1, 2, 3, 4, 5, 6], [1, 2, 3]),
    c: tensor('float16', Uint16Array.of(0x3c00, 0x4000, 0x4200), [3]),
    d: tensor('float32', [7, 8], [2]),
    e: tensor('float16', Uint16Array.of(0x4400, 0x4500), [2, 1]),
  };
  const there = await memory.upload(sent);
  const { result, count } = await counted(() => memory.download(there));
  freeTensors(Object.values(there));
  const values = (tensors: Readonly<Record<string, Tensor>>): number[][] =>
    Object.keys(sent).map((name) => Array.from(tensors[name].data as Float32Array, Number));
  const dims = Object.keys(sent).map((name) => [...result[name].dims]);
  return { sent: values(sent), found: values(result), dims, runs: count };
}

async function main(): Promise<void> {
  countRuns();
  const [gpuMemory, cpuMemory] = [deviceMemory('webgpu'), deviceMemory('cpu')];
  const gpu = await twoSteps(gpuMemory, new DeviceSteps(gpuMemory));
  const cpu = await twoSteps(cpuMemory, new HostSteps(cpuMemory));
  const { step, arrays } = gpu;
  const found: ManyWeights = {
    gpu: gpu.all,
    cpu: cpu.all,
    runs: { step, arrays },
    mixed: await mixed(gpuMemory),
  };
  await gpuMemory.release();
  process.stdout.write(JSON.stringify(found));
}

void main();
