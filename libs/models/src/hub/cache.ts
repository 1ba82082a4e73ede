import { randomUUID } from 'node:crypto';
import { copyFile, mkdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { readOptionalText } from '../optional-file';
import { isCommit, type HubModel } from './name';

/**
 * One repository in the cache that Python's huggingface_hub keeps too: `blobs/<hash>` holds the files,
 * `snapshots/<commit>/<name>` points to them, `refs/<revision>` says which commit a branch or tag was when it was last seen.
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

  /** A name of its own: Python locks `<hash>.lock` in a way that Node cannot. */
  lock(blob: string): string {
    return join(this.locks, `${blob}.ui-rl.lock`);
  }

  /** The commit a revision was when it was last fetched. */
  async commitOf({ revision }: HubModel): Promise<string | undefined> {
    if (isCommit(revision)) return revision;
    const text = await readOptionalText(join(this.folder, 'refs', revision));
    const commit = text?.trim() ?? '';
    return isCommit(commit) ? commit : undefined;
  }

  /** Keeps which commit a revision is. Others may read it meanwhile. */
  async keepCommit({ revision }: HubModel, commit: string): Promise<void> {
    if (revision === commit) return;
    const file = join(this.folder, 'refs', revision);
    if ((await readOptionalText(file)) === commit) return;
    await mkdir(dirname(file), { recursive: true });
    const temporary = `${file}.${randomUUID()}.tmp`;
    await writeFile(temporary, commit);
    await rename(temporary, file);
  }

  /** Whether a snapshot has a file, with its bytes. */
  async has(commit: string, path: string): Promise<boolean> {
    return exists(join(this.snapshot(commit), path));
  }

  /** Shows a blob as a file of a snapshot: a link, or a copy where the file system has no links. */
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

  /** The parsed index of a snapshot's weight files, undefined where it has none. */
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

/** Names of the weight files an index names; undefined where there is no index that can be read. */
async function shardsOf(index: string): Promise<string[] | undefined> {
  try {
    const { weight_map: map } = JSON.parse(await readFile(index, 'utf8')) as { weight_map?: unknown };
    if (typeof map !== 'object' || map === null) return undefined;
    return [...new Set(Object.values(map).filter((name) => typeof name === 'string'))];
  } catch {
    return undefined;
  }
}
