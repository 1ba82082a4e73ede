import { BusError, BusService, describeError, resolveCheckpoint } from '@ui-rl/bus';
import { readCliSettings, redactUrl, type CliSettings } from '@ui-rl/settings';
import type { FetchOptions } from './model-folder';

/** A broker that does not answer for so long is not there. */
const CONNECT_MS = 10_000;

/**
 * Folder of a checkpoint by its address: one of a run on this machine (`UIRL_RUNS_DIR`), else a download from the broker that the
 * environment names. Where it names none, a checkpoint of this machine is taken without asking.
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

async function connect(
  name: string,
  { nats, runsDir }: CliSettings,
  signal?: AbortSignal,
): Promise<BusService> {
  const limit = AbortSignal.timeout(CONNECT_MS);
  const ends = signal === undefined ? limit : AbortSignal.any([signal, limit]);
  return BusService.connect({ ...nats, signal: ends }).catch((cause: unknown) => {
    if (!limit.aborted) throw cause;
    throw new Error(
      `${name} is not in ${runsDir} (UIRL_RUNS_DIR), and no broker answers at ${nats.servers.map(redactUrl).join(', ')}: NATS_URL names it (${describeError(cause)})`,
      { cause },
    );
  });
}
