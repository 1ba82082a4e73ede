import { join } from 'node:path';
import { stepFolder, type CheckpointId } from '@ui-rl/contracts';
import type { FileStore, StoredFile } from './file-store';
import { downloadFolder, uploadFolder } from './folders';
import { MANIFEST_FILE, readManifest, writeManifest, type FolderManifest } from './manifest';

/**
 * Checkpoints in the object store: the files of `<run>/<000080>/`, and last a manifest with their digests. A checkpoint without
 * manifest is one that is being written or deleted, and does not count.
 */
export class CheckpointArchive {
  constructor(private readonly store: FileStore) {}

  /** Stores a checkpoint's folder; over one of the same step, which a process that ended may have left. */
  async upload(checkpoint: CheckpointId, dir: string): Promise<FolderManifest> {
    await this.store.delete(nameOf(checkpoint, MANIFEST_FILE));
    const manifest = await uploadFolder(dir, (path) =>
      this.store.putFile(nameOf(checkpoint, path), join(dir, path)),
    );
    await this.store.put(nameOf(checkpoint, MANIFEST_FILE), writeManifest(manifest));
    return manifest;
  }

  /** What a checkpoint holds; null where it was not uploaded, or is deleted. */
  async manifest(checkpoint: CheckpointId): Promise<FolderManifest | null> {
    const name = nameOf(checkpoint, MANIFEST_FILE);
    const bytes = await this.store.get(name);
    return bytes === null ? null : readManifest(bytes, `${name} in the object store`);
  }

  /** Everything that is stored for a run, also of checkpoints that do not count. */
  files(runId: string): Promise<StoredFile[]> {
    return this.store.list(`${runId}/`);
  }

  /** Steps of a run with a checkpoint, in order. */
  async steps(runId: string): Promise<number[]> {
    const names = (await this.files(runId)).map(({ name }) => name);
    return names
      .map((name) => /^[^/]+\/(\d{6,15})\/manifest\.json$/.exec(name)?.[1])
      .filter((step) => step !== undefined)
      .map(Number)
      .toSorted((a, b) => a - b);
  }

  /**
   * Brings a checkpoint into a folder, which appears complete or not at all.
   * Throws `BusError` `missing`, or `damaged` where a file is not what the manifest says.
   */
  async download(
    checkpoint: CheckpointId,
    manifest: FolderManifest,
    dir: string,
    options: { replace?: boolean } = {},
  ): Promise<void> {
    await downloadFolder(this.store, manifest, dir, {
      ...options,
      nameOf: ({ path }) => nameOf(checkpoint, path),
    });
  }

  async delete(checkpoint: CheckpointId): Promise<void> {
    const manifest = await this.manifest(checkpoint);
    for (const path of [MANIFEST_FILE, ...(manifest?.files ?? []).map((file) => file.path)]) {
      await this.store.delete(nameOf(checkpoint, path));
    }
  }

  /** Deletes all that `files` lists, manifests first. */
  async deleteAll(runId: string): Promise<void> {
    const names = (await this.files(runId)).map(({ name }) => name);
    const isManifest = (name: string): boolean => name.endsWith(`/${MANIFEST_FILE}`);
    for (const name of names.toSorted((a, b) => Number(isManifest(b)) - Number(isManifest(a)))) {
      await this.store.delete(name);
    }
  }

  /** Frees what uploads left behind that were cut off. */
  async sweep(): Promise<void> {
    await this.store.sweep();
  }
}

function nameOf({ runId, step }: CheckpointId, path: string): string {
  return `${runId}/${stepFolder(step)}/${path}`;
}
