import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { promisify } from 'node:util';
import { Graph, ops, Session, tensor, type Device } from '@ui-rl/graph';
import type { Tell, Variant } from './lines';

/** Matrix sizes, squares of powers of two; the fastest counts. */
const SIZES = { full: [1024, 4096], quick: [256] } as const;
const REPEATS = 5;
/** Consecutive products per run, so that transfers to and from the device matter little. */
const PRODUCTS = 8;

/** Describes the machine: whether WebGPU finds a GPU, and the speed of plain products. */
export async function probe(quick: boolean, tell: Tell): Promise<void> {
  const fact = (name: string, value: string): void => tell({ kind: 'fact', name, value });
  fact('date', new Date().toISOString());
  fact('processor', `${cpus()[0]?.model ?? 'unknown'}, ${availableParallelism()} cores, ${gib(totalmem())}`);
  fact('versions', `Node ${process.version}, onnxruntime-node ${runtimeVersion()}`);
  fact('adapters that Vulkan names', await adapters());
  fact(
    'nvidia-smi',
    await said('nvidia-smi', ['--query-gpu=name,driver_version,memory.total', '--format=csv,noheader']),
  );
  fact('device files', deviceFiles());
  for (const [variant, dtype] of [
    ['webgpu fp32', 'float32'],
    ['webgpu fp16', 'float16'],
    ['cpu', 'float32'],
  ] as const) {
    await products(variant, dtype, quick, tell);
  }
}

async function products(
  variant: Variant,
  dtype: 'float32' | 'float16',
  quick: boolean,
  tell: Tell,
): Promise<void> {
  const device = variant === 'cpu' ? 'cpu' : 'webgpu';
  try {
    let best = 0;
    for (const size of SIZES[quick ? 'quick' : 'full'])
      best = Math.max(best, await rate(device, dtype, size));
    tell({ kind: 'figure', model: '—', variant, what: 'matrix products', unit: 'GFLOP/s', value: best });
  } catch (error) {
    tell({ kind: 'failure', part: `products on ${variant}`, reason: (error as Error).message });
  }
}

async function rate(device: Device, dtype: 'float32' | 'float16', size: number): Promise<number> {
  const graph = new Graph('products');
  const x = ops.cast(graph.input('x', 'float32', [size, size]), dtype);
  let power = x;
  // If all elements are α = 1 / √size, a product scaled by α equals the matrix itself, and α is exact in float16.
  const alpha = 1 / Math.sqrt(size);
  for (let product = 0; product < PRODUCTS; product += 1) power = ops.gemm(power, x, null, { alpha });
  graph.output('sum', ops.reduceSum(ops.cast(power, 'float32')));
  const session = await Session.create(graph, { device });
  const feeds = { x: tensor('float32', new Float32Array(size * size).fill(alpha), [size, size]) };
  let best = Infinity;
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    const began = performance.now();
    const { sum } = await session.run(feeds);
    best = Math.min(best, performance.now() - began);
    const found = (sum.data[0] as number) / (size * size * alpha);
    if (!(Math.abs(found - 1) < 2e-2))
      throw new Error(`products of ${size} are wrong: ${found} instead of 1`);
  }
  await session.release();
  return (PRODUCTS * 2 * size ** 3) / best / 1e6;
}

async function adapters(): Promise<string> {
  const text = await said('vulkaninfo', ['--summary']);
  const names = [...text.matchAll(/^\s*deviceName\s*=\s*(.+)$/gm)].map(([, name]) => name.trim());
  return names.length === 0 ? inShort(text) : names.join(', ');
}

/** A program's output, or the reason for its failure. */
async function said(program: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(program, args, { timeout: 20_000 });
    return stdout.trim();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? 'not there' : inShort(message);
  }
}

function inShort(text: string): string {
  return text.trim().split('\n').slice(0, 3).join('; ');
}

function deviceFiles(): string {
  const found = ['/dev', '/dev/dri'].flatMap((folder) => {
    try {
      return readdirSync(folder).filter((name) => /^(nvidia\d*|nvidiactl|renderD\d+|dxg)$/.test(name));
    } catch {
      return [];
    }
  });
  return found.length === 0 ? 'none of a GPU' : found.join(' ');
}

function runtimeVersion(): string {
  const manifest = require.resolve('onnxruntime-node/package.json');
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
}

function gib(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(0)} GiB`;
}
