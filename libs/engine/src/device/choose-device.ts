import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Graph, ops, toOnnx, type Device } from '@ui-rl/graph';

/** A device, and why it was taken: half a sentence for the log. */
export interface ChosenDevice {
  device: Device;
  reason: string;
}

export interface DeviceSearch {
  /** device that was chosen before and is to be chosen again where it can be used, however fast it is now */
  begunOn?: string | undefined;
  /** what shows that the machine has a GPU; default: its device files, and always on macOS and Windows */
  signs?: readonly string[];
  /** environment of the process that tries a device */
  env?: NodeJS.ProcessEnv;
  /** how many times as fast as the CPU it has to be; default 1: drivers in software are slower */
  speedup?: number;
}

const TRIAL_MS = 60_000;
const AS_BEGUN = 'the run began there';

/**
 * Devices in the order in which `auto` tries them: the provider for CUDA is only there where it was installed on purpose.
 */
const GPU_DEVICES = ['cuda', 'webgpu'] as const;

/**
 * The device that was asked for, or with `auto` the first that can be used: a GPU where the machine shows signs of one and it
 * multiplies faster than the CPU, else the CPU. The trial is a process of its own, since a driver may end the one it is loaded
 * into.
 */
export async function chooseDevice(
  asked: Device | 'auto',
  { begunOn, signs, env = process.env, speedup = 1 }: DeviceSearch = {},
): Promise<ChosenDevice> {
  if (asked !== 'auto') return { device: asked, reason: 'as asked for' };
  if (begunOn === 'cpu') return { device: begunOn, reason: AS_BEGUN };
  const begunOnGpu = GPU_DEVICES.find((device) => device === begunOn);
  if (begunOnGpu === undefined) return chooseAnew({ signs, env, speedup });
  const trial = await tryDevice(begunOnGpu, env);
  if (!('failure' in trial)) return { device: begunOnGpu, reason: AS_BEGUN };
  const { device, reason } = await chooseAnew({ signs, env, speedup });
  return {
    device,
    reason: `${reason}. The run began on ${begunOnGpu}, which cannot be used here (${trial.failure}): it does not go on bit for bit`,
  };
}

async function chooseAnew({
  signs,
  env,
  speedup,
}: Required<Pick<DeviceSearch, 'env' | 'speedup'>> & Pick<DeviceSearch, 'signs'>): Promise<ChosenDevice> {
  const found = (signs ?? signsOfGpu()).join(' and ');
  if (found === '') return { device: 'cpu', reason: 'no GPU was found' };
  const failures: string[] = [];
  for (const device of GPU_DEVICES) {
    const trial = await tryDevice(device, env);
    if ('failure' in trial) {
      failures.push(`${device}: ${trial.failure}`);
      continue;
    }
    const times = `products take ${trial.ms.toFixed(1)} ms there and ${trial.cpuMs.toFixed(1)} ms on the CPU`;
    if (trial.ms * speedup < trial.cpuMs) return { device, reason: `${found} found; ${times}` };
    failures.push(`${device}: ${times}`);
  }
  return {
    device: 'cpu',
    reason: `${found} found, but not taken: ${failures.join('; ')}. Ask for a device by name to see what it needs`,
  };
}

function signsOfGpu(): string[] {
  if (process.platform === 'darwin' || process.platform === 'win32') return ['a graphics system'];
  return [
    ...filesOf('/dev/dri', /^renderD\d+$/),
    // A container may have any of a machine's.
    ...filesOf('/dev', /^(nvidia\d+|dxg)$/),
  ];
}

function filesOf(folder: string, name: RegExp): string[] {
  try {
    return readdirSync(folder)
      .filter((each) => name.test(each))
      .map((each) => join(folder, each));
  } catch {
    // Not there, or not for us.
    return [];
  }
}

/** Products in a row, so that they outweigh what it costs to begin. */
const PRODUCTS = 4;

/**
 * The program of the trial: prints the milliseconds of products of 2048 × 2048 on the device and on the CPU; of smaller ones where
 * the device needs long for those. Arguments: path of ONNX Runtime, device, and in base64 a model from `x` [N, N] to `sum`, that of
 * all elements of its power.
 */
const TRIAL = `
const [runtime, device, model] = process.argv.slice(1);
const { InferenceSession, Tensor } = require(runtime);
async function timer(...executionProviders) {
  const session = await InferenceSession.create(Buffer.from(model, 'base64'), { executionProviders, logSeverityLevel: 4 });
  return async (size) => {
    const x = new Tensor('float32', new Float32Array(size * size).fill(1 / size), [size, size]);
    const times = [];
    for (let i = 0; i < 3; i += 1) {
      const began = performance.now();
      const { sum } = await session.run({ x });
      times.push(performance.now() - began);
      if (!(Math.abs(sum.data[0] / size - 1) < 1e-3)) throw new Error('wrong result: ' + sum.data[0]);
    }
    return Math.min(...times);
  };
}
(async () => {
  const onDevice = await timer(device, 'cpu');
  const small = await onDevice(256);
  const size = small > 20 ? 256 : 2048;
  const ms = size === 256 ? small : await onDevice(size);
  console.log(JSON.stringify({ ms, cpuMs: await (await timer('cpu'))(size) }));
  process.exit(0);
})().catch((error) => { console.log(error.message); process.exit(1); });
`;

type Trial = { ms: number; cpuMs: number } | { failure: string };

function tryDevice(device: Device, env: NodeJS.ProcessEnv): Promise<Trial> {
  const graph = new Graph('trial');
  const x = graph.input('x', 'float32', ['N', 'N']);
  let power = x;
  for (let product = 0; product < PRODUCTS; product += 1) power = ops.matmul(power, x);
  graph.output('sum', ops.reduceSum(power));
  const model = Buffer.from(toOnnx(graph)).toString('base64');
  const args = ['-e', TRIAL, require.resolve('onnxruntime-node'), device, model];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env, timeout: TRIAL_MS }, (error, stdout) => {
      if (error === null) resolve(timesIn(stdout));
      else if (error.killed === true) resolve({ failure: 'no answer within a minute' });
      else resolve({ failure: inShort(stdout) ?? 'the trial crashed' });
    });
  });
}

/** Drivers may print lines of their own before. */
function timesIn(stdout: string): Trial {
  try {
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Trial;
  } catch {
    return { failure: `the trial printed "${stdout.trim()}" instead of its times` };
  }
}

/** The last sentence of a message of ONNX Runtime, without the places in its sources. */
function inShort(message: string): string | undefined {
  const line = message.trim().split('\n').at(-1)?.trim();
  if (line === undefined || line === '') return undefined;
  return line.split(/ was false\. |: /).at(-1);
}
