import { randomUUID } from 'node:crypto';
import { copyFile, mkdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { readOptionalText } from '../json-file';
import { isCommit, type HubModel } from './name';

/**
 * One repository in the cache format of Python's huggingface_hub: `blobs/<hash>` contains the files,
 * `snapshots/<commit>/<name>` links to them, `refs/<revision>` stores the last known commit of a branch or tag.
 */
export class HubCache {
  private readonly folder: string;
  private readonly locks: string;

  constructor(cacheDir: string, id: string) {
    const name = `models--${id.replace('/', '--')}`;
    this.folder = join(cacheDir, name);
    this.locks = join(cacheDir, '.locks', name);
  }

  snapshot(commit: string): string {
    return join(this.folder, 'snapshots', commit);
  }

  blob(name: string): string {
    return join(this.folder, 'blobs', name);
  }

  /** A separate name: Python locks `<hash>.lock` in a way that Node cannot. */
  lock(blob: string): string {
    return join(this.locks, `${blob}.ui-rl.lock`);
  }

  /** The commit of a revision when it was last fetched. */
  async commitOf({ revision }: HubModel): Promise<string | undefined> {
    if (isCommit(revision)) return revision;
    const text = await readOptionalText(join(this.folder, 'refs', revision));
    const commit = text?.trim() ?? '';
    return isCommit(commit) ? commit : undefined;
  }

  /** Stores the commit of a revision, atomically for concurrent readers. */
  async keepCommit({ revision }: HubModel, commit: string): Promise<void> {
    if (revision === commit) return;
    const file = join(this.folder, 'refs', revision);
    if ((await readOptionalText(file)) === commit) return;
    await mkdir(dirname(file), { recursive: true });
    const temporary = `${file}.${randomUUID()}.tmp`;
    await writeFile(temporary, commit);
    await rename(temporary, file);
  }

  /** Whether a snapshot contains a file with its bytes. */
  async has(commit: string, path: string): Promise<boolean> {
    return exists(join(this.snapshot(commit), path));
  }

  /** Adds a blob to a snapshot: as a link, or as a copy on file systems without links. */
  async show(blob: string, commit: string, path: string): Promise<void> {
    const [from, to] = [this.blob(blob), join(this.snapshot(commit), path)];
    await mkdir(dirname(to), { recursive: true });
    const temporary = `${to}.${randomUUID()}.tmp`;
    await symlink(relative(dirname(to), from), temporary).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPERM' && error.code !== 'ENOTSUP' && error.code !== 'ENOSYS') throw error;
      await copyFile(from, temporary);
    });
    await rename(temporary, to);
  }

  /** The weight files in a snapshot's index; undefined if there is none. */
  async shards(commit: string): Promise<string[] | undefined> {
    return shardsOf(join(this.snapshot(commit), 'model.safetensors.index.json'));
  }
}

export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Names of the weight files in an index; undefined without a readable index. */
async function shardsOf(index: string): Promise<string[] | undefined> {
  try {
    const { weight_map: map } = JSON.parse(await readFile(index, 'utf8')) as { weight_map?: unknown };
    if (typeof map !== 'object' || map === null) return undefined;
    return [...new Set(Object.values(map).filter((name) => typeof name === 'string'))];
  } catch {
    return undefined;
  }
}
