import { join } from 'node:path';
import { BusError } from '../errors';
import type { FileStore } from './file-store';
import { downloadFolder, uploadFolder } from './folders';
import { MANIFEST_FILE, readManifest, writeManifest } from './manifest';

/** Weights of a run for those who sample with them. */
export interface AdapterId {
  runId: string;
  /** Of the lease of the learner that stored it: what one was taken over from deletes is not what the next one needs. */
  epoch: number;
  /** sha256 of the weights. */
  digest: string;
}

/**
 * Adapters in the object store while samplers need them: the files of `<run>/adapters/<epoch>/<digest>/`, and last a manifest with their
 * digests. They go with the checkpoints of a run when it is deleted.
 */
export class AdapterArchive {
  constructor(private readonly store: FileStore) {}

  /** Stores an adapter's folder, unless it is there. */
  async upload(adapter: AdapterId, dir: string): Promise<void> {
    const manifest = nameOf(adapter, MANIFEST_FILE);
    if ((await this.store.digest(manifest)) !== null) return;
    const stored = await uploadFolder(dir, (path) =>
      this.store.putFile(nameOf(adapter, path), join(dir, path)),
    );
    await this.store.put(manifest, writeManifest(stored));
  }

  /**
   * Brings an adapter into a folder, which appears complete or not at all.
   * Throws `BusError` `missing`, or `damaged` where a file is not what the manifest says.
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

  /** Frees what learners of the run left behind that were cut off. @param epoch of the one that works now */
  async sweep(runId: string, epoch: number): Promise<void> {
    for (const { name } of await this.store.list(`${runId}/adapters/`)) {
      const of = Number(name.split('/')[2]);
      if (of < epoch) await this.store.delete(name);
    }
  }

  /** Manifests first: what is cut off then is no adapter any more. */
  private async deleteAll(prefix: string): Promise<void> {
    await this.store.delete(`${prefix}${MANIFEST_FILE}`);
    for (const { name } of await this.store.list(prefix)) await this.store.delete(name);
  }
}

function nameOf({ runId, epoch, digest }: AdapterId, path: string): string {
  return `${runId}/adapters/${epoch}/${digest}/${path}`;
}
