import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { ModelError } from '../errors';
import type { WeightStore } from './store';

/** Default folder for converted weights. */
export function defaultCacheDir(): string {
  return join(homedir(), '.cache', 'ui-rl');
}

/** Cache name of converted weights: depends on the files, the set of weights and the conversion. */
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
/** Age after which an unfinished file without growth belongs to a killed process. */
const LEFT_AFTER_MS = 3_600_000;

/** Writes a temporary file and renames it, so that the file appears complete or not at all. */
export async function makeFile(file: string, write: (handle: FileHandle) => Promise<void>): Promise<void> {
  // Other processes may create the same file concurrently, even with the same process id in another container.
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

/** Removes leftovers, which are as large as the weights. */
async function removeLeft(file: string): Promise<void> {
  const folder = dirname(file);
  const names = await readdir(folder);
  const unfinished = names.filter((name) => name.startsWith(`${basename(file)}.`) && name.endsWith(WRITING));
  for (const name of unfinished) {
    const path = join(folder, name);
    // Another process may have renamed or removed it meanwhile.
    const found = await stat(path).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > LEFT_AFTER_MS) await rm(path, { force: true });
  }
}
