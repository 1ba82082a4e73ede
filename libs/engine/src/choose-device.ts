import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { Graph, ops } from '@ui-rl/graph';
import type { Device } from './types';

/** A device, and why it was taken: half a sentence for the log. */
export interface ChosenDevice {
  device: Device;
  reason: string;
}

/** What is looked at to find a GPU; for tests. */
export interface DeviceSearch {
  /** what shows that the machine has a GPU; default: its device files, and always on macOS and Windows */
  signs?: readonly string[];
  /** environment of the process that tries a device */
  env?: NodeJS.ProcessEnv;
}

const TRIAL_MS = 60_000;

/**
 * Devices in the order in which `auto` tries them: the provider for CUDA is only there where somebody has installed it for its
 * sake.
 */
const GPU_DEVICES = ['cuda', 'webgpu'] as const;

/**
 * The device that was asked for, or with `auto` the first that can be used: a GPU where the machine shows signs of one and a
 * product runs on it, else the CPU. The trial is a process of its own, since a driver may end the one it is loaded into.
 */
export async function chooseDevice(
  asked: Device | 'auto',
  { signs = signsOfGpu(), env = process.env }: DeviceSearch = {},
): Promise<ChosenDevice> {
  if (asked !== 'auto') return { device: asked, reason: 'as asked for' };
  if (signs.length === 0) return { device: 'cpu', reason: 'no GPU was found' };
  const failures: string[] = [];
  for (const device of GPU_DEVICES) {
    const failure = await tryDevice(device, env);
    if (failure === undefined)
      return { device, reason: `${signs.join(' and ')} found, and a product runs there` };
    failures.push(`${device}: ${failure}`);
  }
  return {
    device: 'cpu',
    reason: `${signs.join(' and ')} found, but it cannot be used: ${failures.join('; ')}; ask for the device by name to see what it needs`,
  };
}

function signsOfGpu(): string[] {
  if (process.platform === 'darwin' || process.platform === 'win32') return ['a graphics system'];
  const nodes = existsSync('/dev/dri')
    ? readdirSync('/dev/dri').filter((name) => /^renderD\d+$/.test(name))
    : [];
  const files = [...nodes.map((name) => `/dev/dri/${name}`), '/dev/nvidia0', '/dev/dxg'];
  return files.filter((file) => existsSync(file));
}

/** The program of the trial. Arguments: path of ONNX Runtime, device, a model from `x` [2, 2] to `y` in base64. */
const TRIAL = `
const [runtime, device, model] = process.argv.slice(1);
const { InferenceSession, Tensor } = require(runtime);
InferenceSession.create(Buffer.from(model, 'base64'), { executionProviders: [device, 'cpu'], logSeverityLevel: 4 })
  .then((session) => session.run({ x: new Tensor('float32', Float32Array.of(1, 2, 3, 4), [2, 2]) }))
  .then(({ y }) => process.exit(Array.from(y.data).join() === '5,11,11,25' ? 0 : 1))
  .catch((error) => { console.log(error.message); process.exit(1); });
`;

/** Undefined where the device computes, otherwise what is the matter, in few words. */
function tryDevice(device: Device, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const graph = new Graph('trial');
  const x = graph.input('x', 'float32', [2, 2]);
  graph.output('y', ops.matmul(x, ops.transpose(x)));
  const model = Buffer.from(graph.toOnnx()).toString('base64');
  const args = ['-e', TRIAL, require.resolve('onnxruntime-node'), device, model];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env, timeout: TRIAL_MS }, (error, stdout) => {
      if (error === null) resolve(undefined);
      else
        resolve(
          inShort(stdout) ?? (error.killed === true ? 'no answer within a minute' : 'the trial crashed'),
        );
    });
  });
}

/** The last sentence of a message of ONNX Runtime, without the places in its sources. */
function inShort(message: string): string | undefined {
  const line = message.trim().split('\n').at(-1)?.trim();
  if (line === undefined || line === '') return undefined;
  return line.split(/ was false\. |: /).at(-1);
}
