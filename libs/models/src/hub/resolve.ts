import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { HubError } from './errors';
import { parseHubName } from './name';
import { fetchSnapshot, type SnapshotOptions } from './snapshot';

/** A model folder that is there, and where it comes from. */
export interface ResolvedModel {
  dir: string;
  /** id and commit, for a model of the hub */
  hub?: { id: string; commit: string };
}

/**
 * The folder of a model named by the user: a folder, or `organisation/name` or `organisation/name@revision` on the hub, which
 * is fetched into the cache. A folder of that name comes first. Whether a folder holds a model is left to the loader.
 * @throws HubError
 */
export async function resolveModel(name: string, options: SnapshotOptions): Promise<ResolvedModel> {
  const dir = resolve(name);
  const isFolder = await stat(dir).then(
    (found) => found.isDirectory(),
    () => false,
  );
  const model = isFolder ? undefined : parseHubName(name);
  if (model === undefined) return { dir };
  try {
    const snapshot = await fetchSnapshot(model, options);
    return { dir: snapshot.dir, hub: { id: model.id, commit: snapshot.commit } };
  } catch (error) {
    if (!(error instanceof HubError) || !['absent', 'denied', 'unreachable', 'offline'].includes(error.kind))
      throw error;
    throw new HubError(error.kind, `there is no folder ${dir}, and ${error.message}`, { cause: error.cause });
  }
}
