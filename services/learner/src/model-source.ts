import type { BaseModel } from '@ui-rl/contracts';
import { pinnedName, resolveModel, type ResolveOptions } from '@ui-rl/models';

/** A model on this machine, and how other machines find it. */
export interface FoundModel {
  dir: string;
  base: BaseModel;
}

/**
 * The folder of a run's model; fetches a hub model if it is not cached. A resumed run uses its original commit,
 * even if the branch has moved, because its adapter belongs to those weights.
 * @param begun the model in the run's newest checkpoint
 */
export async function findModel(
  name: string,
  begun: BaseModel | undefined,
  options: ResolveOptions,
): Promise<FoundModel> {
  const commit = begun?.name === name ? begun.commit : undefined;
  const { dir, hub } = await resolveModel(pinnedName(name, commit), options);
  if (hub !== undefined) options.onProgress?.(`${hub.id} at commit ${hub.commit} is taken from ${dir}`);
  return { dir, base: { name, ...(hub === undefined ? {} : { commit: hub.commit }) } };
}
