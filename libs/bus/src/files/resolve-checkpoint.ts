import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseCheckpointName, stepFolder, type CheckpointId } from '@ui-rl/contracts';
import { readJson } from '../codec';
import { BusError } from '../errors';
import type { CheckpointArchive } from './checkpoint-archive';
import { digestOfBytes, MANIFEST_FILE, writeManifest } from './manifest';

/** Where to look for checkpoints. */
export interface CheckpointPlaces {
  /** Folder of all runs on this machine. */
  runsDir: string;
  /** Folder for downloads. */
  cacheDir: string;
  /** The archive in the object store; null without a broker. */
  archive: CheckpointArchive | null;
}

/**
 * The local folder of a checkpoint, by its address: from the run if it was trained on this machine, else from the
 * download cache, which is filled if needed. An uploaded checkpoint takes precedence over a local one of the same
 * name with other content: a learner left the local one when it ended before announcing it. Throws `BusError`
 * `configuration` for an invalid address, `missing` with the available ones, or `damaged`.
 */
export async function resolveCheckpoint(name: string, places: CheckpointPlaces): Promise<string> {
  const checkpoint = parseCheckpointName(name);
  if (checkpoint === undefined) {
    throw new BusError(
      'configuration',
      `"${name}" is not the address of a checkpoint, such as uirl://<run>/sampler_weights/000080`,
    );
  }
  const { archive, cacheDir, runsDir } = places;
  const local = await findLocal(runsDir, checkpoint);
  const stored = (await archive?.find(checkpoint)) ?? null;
  if (stored === null) {
    if (local !== undefined) return local.dir;
    throw new BusError('missing', await missing(name, checkpoint, places));
  }
  const { sha256 } = digestOfBytes(writeManifest(stored.manifest));
  if (local?.sha256 === sha256) return local.dir;
  const dir = join(cacheDir, 'checkpoints', sha256);
  const isCached = await readFile(join(dir, MANIFEST_FILE)).then(
    () => true,
    () => false,
  );
  if (!isCached) await archive!.download(stored, dir);
  return dir;
}

/** A complete checkpoint of a run on this machine, in a folder of any name. */
async function findLocal(
  runsDir: string,
  { runId, step }: CheckpointId,
): Promise<{ dir: string; sha256: string } | undefined> {
  for (const folder of await foldersIn(runsDir, runId)) {
    const dir = join(runsDir, folder, 'checkpoints', stepFolder(step));
    const [state, manifest] = await Promise.all(
      ['state.json', MANIFEST_FILE].map((file) => readFile(join(dir, file)).catch(() => undefined)),
    );
    if (state === undefined || manifest === undefined) continue;
    // An interrupted run may leave any content.
    const read = readJson<{ runId?: unknown }>(state);
    if (read.ok && read.value.runId === runId) return { dir, sha256: digestOfBytes(manifest).sha256 };
  }
  return undefined;
}

/** Folders of runs, the likeliest first. */
async function foldersIn(runsDir: string, likeliest: string): Promise<string[]> {
  const entries = await readdir(runsDir, { withFileTypes: true }).catch(() => []);
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return folders.toSorted((a, b) => Number(b === likeliest) - Number(a === likeliest));
}

async function missing(name: string, { runId }: CheckpointId, places: CheckpointPlaces): Promise<string> {
  const here = `${name} is not in ${places.runsDir}`;
  if (places.archive === null) return `${here}, and no broker was asked: NATS_URL names one`;
  const steps = await places.archive.steps(runId);
  const stored = steps.length === 0 ? 'none of this run' : steps.map(stepFolder).join(', ');
  return `${here} and not in the object store, which has ${stored}`;
}
