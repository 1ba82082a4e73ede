import { join } from 'node:path';
import { BusError } from '../errors';
import type { FileStore } from './file-store';
import { downloadFolder, uploadFolder } from './folders';
import { MANIFEST_FILE, readManifest, writeManifest } from './manifest';

/** Weights of a run for its samplers. */
export interface AdapterId {
  runId: string;
  /**
   * Lease epoch of the learner that stored it, so that clean-up by an old learner does not delete adapters of its
   * successor.
   */
  epoch: number;
  /** sha256 of the weights. */
  digest: string;
}

/**
 * Adapters in the object store while samplers need them: the files of `<run>/adapters/<epoch>/<digest>/`, followed by
 * a manifest with their digests. They are deleted with the checkpoints of the run.
 */
export class AdapterArchive {
  constructor(private readonly store: FileStore) {}

  /** Stores an adapter's folder if it is missing. */
  async upload(adapter: AdapterId, dir: string): Promise<void> {
    const manifest = nameOf(adapter, MANIFEST_FILE);
    if ((await this.store.digest(manifest)) !== null) return;
    const stored = await uploadFolder(dir, (path) =>
      this.store.putFile(nameOf(adapter, path), join(dir, path)),
    );
    await this.store.put(manifest, writeManifest(stored));
  }

  /**
   * Downloads an adapter to a folder, which appears complete or not at all. Throws `BusError` `missing`, or `damaged`
   * if a file differs from the manifest.
   */
  async download(adapter: AdapterId, dir: string): Promise<void> {
    const name = nameOf(adapter, MANIFEST_FILE);
    const bytes = await this.store.get(name);
    if (bytes === null) throw new BusError('missing', `the object store has no ${name}`);
    const manifest = readManifest(bytes, `${name} in the object store`);
    await downloadFolder(this.store, manifest, dir, { nameOf: ({ path }) => nameOf(adapter, path) });
  }

  async delete(adapter: AdapterId): Promise<void> {
    await this.deleteAll(nameOf(adapter, ''));
  }

  /** Deletes leftovers of learners that were interrupted. @param epoch of the current learner */
  async sweep(runId: string, epoch: number): Promise<void> {
    for (const { name } of await this.store.list(`${runId}/adapters/`)) {
      const of = Number(name.split('/')[2]);
      if (of < epoch) await this.store.delete(name);
    }
  }

  /** Deletes manifests first, so that an interrupted deletion leaves no seemingly complete adapter. */
  private async deleteAll(prefix: string): Promise<void> {
    await this.store.delete(`${prefix}${MANIFEST_FILE}`);
    for (const { name } of await this.store.list(prefix)) await this.store.delete(name);
  }
}

function nameOf({ runId, epoch, digest }: AdapterId, path: string): string {
  return `${runId}/adapters/${epoch}/${digest}/${path}`;
}
