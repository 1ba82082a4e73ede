import { resolveModel } from '@ui-rl/models';
import { readCliSettings } from '@ui-rl/settings';

export interface FetchOptions {
  /** False fetches configuration and tokenizer only. */
  weights?: boolean;
  signal?: AbortSignal;
  /** Called with a line for each download. */
  onProgress: (line: string) => void;
}

/** Folder of a model that is named by folder or name. Fetches a model of the hub if it is not cached. */
export async function modelFolder(
  name: string,
  { weights, signal, onProgress }: FetchOptions,
): Promise<string> {
  const { hub, models } = readCliSettings();
  const { dir } = await resolveModel(name, { ...hub, models, onProgress, weights, signal });
  return dir;
}
