import { BusError, resolveCheckpoint, type BusService } from '@ui-rl/bus';
import { readCliSettings, type CliSettings } from '@ui-rl/settings';
import { connectCommand } from '../run/command-bus';
import type { FetchOptions } from './model-folder';

/**
 * Folder of a checkpoint by its address: from a run on this machine (`UIRL_RUNS_DIR`), else downloaded from the
 * broker that the environment names. If it names none, a local checkpoint is used without connecting to a broker.
 */
export async function locateCheckpoint(
  name: string,
  { signal, onProgress }: Pick<FetchOptions, 'signal' | 'onProgress'>,
): Promise<string> {
  const settings = readCliSettings();
  const { runsDir, cacheDir } = settings;
  if (!settings.hasBroker) {
    const here = await resolveCheckpoint(name, { runsDir, cacheDir, archive: null }).catch(
      (error: unknown) => {
        if (error instanceof BusError && error.category === 'missing') return undefined;
        throw error;
      },
    );
    if (here !== undefined) return here;
  }
  const bus = await connect(name, settings, signal);
  try {
    const dir = await resolveCheckpoint(name, { runsDir, cacheDir, archive: bus.checkpoints });
    onProgress(`${name} is ${dir}`);
    return dir;
  } finally {
    await bus.close();
  }
}

async function connect(name: string, settings: CliSettings, signal?: AbortSignal): Promise<BusService> {
  return connectCommand(settings, signal).catch((cause: unknown) => {
    if (signal?.aborted === true) throw cause;
    throw new Error(
      `${name} is not in ${settings.runsDir} (UIRL_RUNS_DIR), and cannot be fetched: ${(cause as Error).message}`,
      { cause },
    );
  });
}
