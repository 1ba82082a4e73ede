import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Graph, ops, toOnnx, type Device } from '@ui-rl/graph';

/** A device and the reason for choosing it, as a clause for the log. */
export interface ChosenDevice {
  device: Device;
  reason: string;
}

export interface DeviceSearch {
  /** device of an earlier start, which is chosen again if it is usable, regardless of its current speed */
  begunOn?: string | undefined;
  /** device files whose presence indicates a GPU; default: the usual ones, and always true on macOS and Windows */
  signs?: readonly string[];
  /** environment of the process that tests a device */
  env?: NodeJS.ProcessEnv;
  /** required speedup over the CPU; default 1, because software drivers are slower */
  speedup?: number;
}

const TRIAL_MS = 60_000;
const AS_BEGUN = 'the run began there';

/**
 * Devices in the order in which `auto` tries them: the CUDA provider is only present if it was installed on purpose.
 */
const GPU_DEVICES = ['cuda', 'webgpu'] as const;

/**
 * The requested device, or for `auto` the first usable one: a GPU if the machine shows signs of one and it multiplies
 * faster than the CPU, else the CPU. The test runs in a separate process, because a driver may crash the process that
 * loads it.
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
    reason: `${reason}. The run began on ${begunOnGpu}, which cannot be used here (${trial.failure}): it does not continue bit for bit`,
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
    // A container may have any subset of a machine's GPUs.
    ...filesOf('/dev', /^(nvidia\d+|dxg)$/),
  ];
}

function filesOf(folder: string, name: RegExp): string[] {
  try {
    return readdirSync(folder)
      .filter((each) => name.test(each))
      .map((each) => join(folder, each));
  } catch {
    // Missing or not readable.
    return [];
  }
}

/** Products in sequence, so that they outweigh the start-up cost. */
const PRODUCTS = 4;

/**
 * The test program: prints the milliseconds of 2048 × 2048 products on the device and on the CPU, or of smaller ones
 * if the device is slow. Arguments: path of ONNX Runtime, device, and a base64 model from `x` [N, N] to `sum`, the
 * sum of all elements of its power.
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

/** Drivers may print other lines first. */
function timesIn(stdout: string): Trial {
  try {
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Trial;
  } catch {
    return { failure: `the trial printed "${stdout.trim()}" instead of its times` };
  }
}

/** The last sentence of an ONNX Runtime message, without source locations. */
function inShort(message: string): string | undefined {
  const line = message.trim().split('\n').at(-1)?.trim();
  if (line === undefined || line === '') return undefined;
  return line.split(/ was false\. |: /).at(-1);
}
