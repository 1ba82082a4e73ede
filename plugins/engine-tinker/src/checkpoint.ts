import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isRecord, type WeightsInfo } from '@ui-rl/plugin-kit';
import { TinkerError } from './errors';

/** Contents of `tinker.json` in a checkpoint folder, for weights stored by the service. */
export interface CheckpointFile extends WeightsInfo {
  /** `tinker://…`, with the optimizer state. */
  state_path: string;
  /** `tinker://…`, for sampling. Absent for a critic, which is not sampled. */
  sampler_path?: string;
  base_model: string;
}

const FILE = 'tinker.json';

/** Writes a folder atomically. */
export async function writeCheckpoint(
  dir: string,
  checkpoint: CheckpointFile,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  const temporary = `${dir}.writing`;
  await rm(temporary, { recursive: true, force: true });
  await mkdir(temporary, { recursive: true });
  const all = { ...files, [FILE]: `${JSON.stringify(checkpoint, null, 2)}\n` };
  for (const [name, text] of Object.entries(all)) await writeFile(join(temporary, name), text);
  await rm(dir, { recursive: true, force: true });
  await rename(temporary, dir);
}

/** @throws TinkerError `checkpoint` if the folder has no weights of a service */
export async function readCheckpoint(dir: string): Promise<CheckpointFile> {
  const file = join(dir, FILE);
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new TinkerError(
      'checkpoint',
      `${file} cannot be read: engine tinker continues from checkpoints that it wrote itself`,
      { cause },
    );
  });
  try {
    const value = JSON.parse(text) as unknown;
    if (isRecord(value) && typeof value.state_path === 'string' && typeof value.digest === 'string') {
      return value as unknown as CheckpointFile;
    }
  } catch {
    // Reported below.
  }
  throw new TinkerError(
    'checkpoint',
    `${file} does not say which weights it means: it was cut off or changed`,
  );
}

/** @throws TinkerError `checkpoint` if the folder has no weights to sample from */
export async function readSampled(dir: string): Promise<CheckpointFile & { sampler_path: string }> {
  const { sampler_path, ...checkpoint } = await readCheckpoint(dir);
  if (sampler_path !== undefined) return { ...checkpoint, sampler_path };
  throw new TinkerError('checkpoint', `${dir} holds a critic, which cannot be sampled from`);
}

/**
 * Addresses of weights that the checkpoint in a folder references, and no other checkpoint of its run does, complete
 * or not.
 */
export async function namedOnlyBy(dir: string): Promise<string[]> {
  const others = await Promise.all((await othersOf(dir)).map(addressesIn));
  const needed = new Set(others.flat());
  return (await addressesIn(dir)).filter((address) => !needed.has(address));
}

/**
 * Folders of other checkpoints that may reference the same weights: the folder of a critic is inside that of its
 * policy.
 */
async function othersOf(dir: string): Promise<string[]> {
  const isWithin = (await addressesIn(dirname(dir))).length > 0;
  const own = isWithin ? dirname(dir) : dir;
  const beside = (await readdir(dirname(own))).filter((name) => name !== basename(own));
  return beside.map((name) => join(dirname(own), name, ...(isWithin ? [basename(dir)] : [])));
}

/** Empty if the folder is not a checkpoint of a service. */
async function addressesIn(dir: string): Promise<string[]> {
  const text = await readFile(join(dir, FILE), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return '';
    throw error;
  });
  return text.match(/tinker:\/\/[^"\s]+/g) ?? [];
}
