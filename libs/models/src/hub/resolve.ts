import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ModelError } from '../errors';
import { HubError } from './errors';
import { parseHubName } from './name';
import { fetchSnapshot, type SnapshotOptions } from './snapshot';

/** An existing model folder and its origin. */
export interface ResolvedModel {
  dir: string;
  /** id and commit, for a model of the hub */
  hub?: { id: string; commit: string };
}

export interface ResolveOptions extends SnapshotOptions {
  /** Folders by name; these names take precedence. */
  models?: Readonly<Record<string, string>>;
  /** Whether a folder is a valid name. Default true; disable it for names from other machines. */
  folders?: boolean;
}

/**
 * The folder of a model that the user names: one of `models`, a folder, or `organisation/name` or
 * `organisation/name@revision` on the hub, which is fetched to the cache. A folder takes precedence over a hub model
 * of the same name. The loader validates the folder's content.
 * @throws HubError, or ModelError `unknown-model` if the name can only be a folder, and folders are not allowed
 */
export async function resolveModel(name: string, options: ResolveOptions): Promise<ResolvedModel> {
  const { models = {}, folders = true } = options;
  if (Object.hasOwn(models, name)) return { dir: models[name] };
  const dir = resolve(name);
  const isFolder =
    folders &&
    (await stat(dir).then(
      (found) => found.isDirectory(),
      () => false,
    ));
  const model = isFolder ? undefined : parseHubName(name);
  if (model === undefined && !folders) throw unknownName(name, Object.keys(models));
  if (model === undefined) return { dir };
  try {
    const snapshot = await fetchSnapshot(model, options);
    return { dir: snapshot.dir, hub: { id: model.id, commit: snapshot.commit } };
  } catch (error) {
    if (!(error instanceof HubError) || !['absent', 'denied', 'unreachable', 'offline'].includes(error.kind))
      throw error;
    const where = folders ? `there is no folder ${dir}, and ` : '';
    throw new HubError(error.kind, `${where}${error.message}`, { cause: error.cause });
  }
}

function unknownName(name: string, known: readonly string[]): ModelError {
  return new ModelError(
    'unknown-model',
    `no model is called "${name}" here: expected organisation/name[@revision] on the hub, or a name of UIRL_MODELS (${known.join(', ')}). ` +
      'For a folder on the machine of the learner, start the learner with UIRL_MODELS=name=folder and give that name',
  );
}
