import { readdir, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { EngineOptions } from './types';

/** Rows for which a thread of its own pays. */
const ROWS_PER_SAMPLER = 32;
/** Each thread holds what is trained of the weights: those of larger models keep all cores busy from one thread. */
const LARGEST_MODEL_BYTES = 256 * 1024 * 1024;

/** Threads that sample: as asked for, or one per 32 rows where model and device gain from it, as far as there are cores. */
export async function chooseSamplers(options: EngineOptions): Promise<number> {
  const { samplers, device, deterministic, maxRows, threads, modelDir } = options;
  if (samplers !== undefined) return samplers;
  const cores = threads ?? availableParallelism();
  const useful = Math.min(cores, Math.floor(maxRows / ROWS_PER_SAMPLER));
  if (device !== 'cpu' || deterministic === true || useful < 2) return 1;
  return (await weightBytes(modelDir)) > LARGEST_MODEL_BYTES ? 1 : useful;
}

/** Bytes of a folder's safetensors files; 0 where there is no such folder, which loading it reports. */
async function weightBytes(dir: string): Promise<number> {
  const names = await readdir(dir).catch(() => []);
  const files = names.filter((name) => name.endsWith('.safetensors'));
  const sizes = await Promise.all(files.map(async (name) => (await stat(join(dir, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
