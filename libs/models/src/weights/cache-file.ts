import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { ModelError } from '../errors';
import type { WeightStore } from './store';

/** Where weights in another form than that of their files are kept, unless another folder is given. */
export function defaultCacheDir(): string {
  return join(homedir(), '.cache', 'ui-rl');
}

/** A name for what is made of weights in a certain way: changes when files, set of weights or way change. */
export async function cacheKey(
  store: WeightStore,
  weights: readonly { name: string; shape: readonly number[] }[],
  way: string,
): Promise<string> {
  const hash = createHash('sha256').update(`${way}\n`);
  const files = new Set<string>();
  for (const { name, shape } of weights) {
    const { file, offset, dtype } = store.locate(name, shape).entry;
    files.add(file);
    hash.update(`${name} ${shape.join('x')} ${dtype} ${offset}\n`);
  }
  for (const file of [...files].toSorted()) {
    const { size, mtimeMs } = await stat(file);
    hash.update(`${file} ${size} ${mtimeMs}\n`);
  }
  return hash.digest('hex').slice(0, 32);
}

const WRITING = '.writing';
/** Nobody writes any more to a file that has not grown for so long: a process was killed, and has left it. */
const LEFT_AFTER_MS = 3_600_000;

/** Writes a temporary file and renames it: it is there as a whole or not at all. */
export async function makeFile(file: string, write: (handle: FileHandle) => Promise<void>): Promise<void> {
  // Others may make the same file meanwhile, also under the same process id in another container.
  const temporary = `${file}.${randomUUID()}${WRITING}`;
  try {
    await mkdir(dirname(file), { recursive: true });
    await removeLeft(file);
    const handle = await open(temporary, 'wx');
    try {
      await write(handle);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (cause) {
    await rm(temporary, { force: true });
    if (cause instanceof ModelError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ModelError('bad-file', `${file}: cannot be written: ${why}`, { cause });
  }
}

/** They are as large as the weights. */
async function removeLeft(file: string): Promise<void> {
  const folder = dirname(file);
  const names = await readdir(folder);
  const unfinished = names.filter((name) => name.startsWith(`${basename(file)}.`) && name.endsWith(WRITING));
  for (const name of unfinished) {
    const path = join(folder, name);
    // Somebody else may have renamed or removed it by now.
    const found = await stat(path).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > LEFT_AFTER_MS) await rm(path, { force: true });
  }
}
