import { join } from 'node:path';
import { stepFolder, type CheckpointId } from '@ui-rl/contracts';
import type { FileStore, StoredFile } from './file-store';
import { downloadFolder, uploadFolder } from './folders';
import { MANIFEST_FILE, readManifest, writeManifest, type FolderManifest } from './manifest';

/** A checkpoint in the archive. */
export interface StoredCheckpoint extends CheckpointId {
  /** Lease epoch of the learner that stored it; 0 without a lease. */
  epoch: number;
  manifest: FolderManifest;
}

type Place = CheckpointId & Pick<StoredCheckpoint, 'epoch'>;

/**
 * Checkpoints in the object store: the files of `<run>/<000080>/<epoch>/`, followed by a manifest with their digests.
 * A checkpoint without a manifest is being written or deleted and is ignored. Each learner of a run writes under its
 * own epoch, so that a superseded one overwrites nothing; the largest epoch is valid.
 */
export class CheckpointArchive {
  constructor(private readonly store: FileStore) {}

  /** Stores a checkpoint's folder. */
  async upload(checkpoint: CheckpointId, dir: string, epoch = 0): Promise<FolderManifest> {
    const place = { ...checkpoint, epoch };
    await this.store.delete(nameOf(place, MANIFEST_FILE));
    const manifest = await uploadFolder(dir, (path) =>
      this.store.putFile(nameOf(place, path), join(dir, path)),
    );
    await this.store.put(nameOf(place, MANIFEST_FILE), writeManifest(manifest));
    return manifest;
  }

  /** The contents of a checkpoint; null if it was not uploaded or has been deleted. Throws `BusError` `damaged`. */
  async find({ runId, step }: CheckpointId): Promise<StoredCheckpoint | null> {
    const [newest] = (await this.complete(runId, step)).toSorted((a, b) => b.epoch - a.epoch);
    if (newest === undefined) return null;
    const name = nameOf(newest, MANIFEST_FILE);
    const bytes = await this.store.get(name);
    if (bytes === null) return null;
    return { ...newest, manifest: readManifest(bytes, `${name} in the object store`) };
  }

  /** All stored files of a run, including those of incomplete checkpoints. */
  files(runId: string): Promise<StoredFile[]> {
    return this.store.list(`${runId}/`);
  }

  /** Steps of a run with a checkpoint, in order. */
  async steps(runId: string): Promise<number[]> {
    const steps = (await this.complete(runId)).map(({ step }) => step);
    return [...new Set(steps)].toSorted((a, b) => a - b);
  }

  /**
   * Downloads a checkpoint to a folder, which appears complete or not at all. Throws `BusError` `missing`, or
   * `damaged` if a file differs from the manifest.
   */
  async download(stored: StoredCheckpoint, dir: string): Promise<void> {
    await downloadFolder(this.store, stored.manifest, dir, { nameOf: ({ path }) => nameOf(stored, path) });
  }

  /** Deletes manifests first, so that an interrupted deletion leaves no seemingly complete checkpoint. */
  async delete({ runId, step }: CheckpointId): Promise<void> {
    await this.deleteFiles(await this.store.list(`${runId}/${stepFolder(step)}/`));
  }

  /** Deletes all files of `files`, manifests first. */
  async deleteAll(runId: string): Promise<void> {
    await this.deleteFiles(await this.files(runId));
  }

  /** Deletes leftovers of interrupted uploads; for the run also those of learners before `epoch`. */
  async sweep(runId: string, epoch: number): Promise<void> {
    await this.store.sweep();
    const complete = new Set((await this.complete(runId)).map((place) => nameOf(place, '')));
    for (const { name } of await this.files(runId)) {
      const place = placeOf(name);
      if (place === undefined || place.epoch >= epoch || complete.has(nameOf(place, ''))) continue;
      await this.store.delete(name);
    }
  }

  private async deleteFiles(files: readonly StoredFile[]): Promise<void> {
    const isManifest = ({ name }: StoredFile): boolean => name.endsWith(`/${MANIFEST_FILE}`);
    for (const { name } of files.toSorted((a, b) => Number(isManifest(b)) - Number(isManifest(a)))) {
      await this.store.delete(name);
    }
  }

  /** Checkpoints with a manifest. */
  private async complete(runId: string, step?: number): Promise<Place[]> {
    const stored = await this.store.list(step === undefined ? `${runId}/` : `${runId}/${stepFolder(step)}/`);
    return stored.flatMap(({ name }) => {
      const place = placeOf(name);
      return place !== undefined && name === nameOf(place, MANIFEST_FILE) ? [place] : [];
    });
  }
}

/** Checkpoints stored before learners had leases have no epoch in their names. */
function nameOf({ runId, step, epoch }: Place, path: string): string {
  return `${runId}/${stepFolder(step)}/${epoch === 0 ? '' : `${epoch}/`}${path}`;
}

function placeOf(name: string): Place | undefined {
  const [, runId, step, epoch = '0'] = /^([^/]+)\/(\d{6,15})\/(?:(\d{1,15})\/)?/.exec(name) ?? [];
  return runId === undefined ? undefined : { runId, step: Number(step), epoch: Number(epoch) };
}
