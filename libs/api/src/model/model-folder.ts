import { resolveModel } from '@ui-rl/models';
import { readCliSettings } from '@ui-rl/settings';

export interface FetchOptions {
  /** False fetches configuration and tokenizer only. */
  weights?: boolean;
  signal?: AbortSignal;
  /** Called with lines about what is fetched. */
  onProgress: (line: string) => void;
}

/** The folder of a model that is named by folder or by name; one of the hub is fetched where the cache lacks it. */
export async function modelFolder(
  name: string,
  { weights, signal, onProgress }: FetchOptions,
): Promise<string> {
  const { hub, models } = readCliSettings();
  const { dir } = await resolveModel(name, { ...hub, models, onProgress, weights, signal });
  return dir;
}
