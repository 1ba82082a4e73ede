import { resolveModel } from '@ui-rl/models';
import { readCliSettings } from '@ui-rl/settings';

/** What `--model` takes, for `--help`. */
export const MODEL_HELP = 'Hugging Face folder, or organisation/name[@revision] on the hub';

/** The folder of a model named on the command line; one of the hub is fetched where the cache lacks it. */
export async function modelFolder(
  name: string,
  { weights, signal }: { weights?: boolean; signal?: AbortSignal } = {},
): Promise<string> {
  const onProgress = (line: string): void => console.error(line);
  const { dir } = await resolveModel(name, { ...readCliSettings().hub, onProgress, weights, signal });
  return dir;
}
