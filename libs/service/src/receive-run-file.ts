import { BusError, type BusService } from '@ui-rl/bus';
import type { RunRecord } from '@ui-rl/contracts';
import type { ComponentRegistry, NamedFile } from '@ui-rl/plugin-kit';
import { filesOfRun, parseRunFile, SettingsError, type RunFile } from '@ui-rl/settings';

/** The dependencies of reading run files. */
export interface RunFileReceiver {
  bus: BusService;
  /** Components that runs may choose. */
  components: ComponentRegistry;
  /** Folder of downloads. */
  cacheDir: string;
}

/**
 * Validates the run file of a run and fetches the files that it names on other machines: in the result, those options
 * are paths of copies in the cache. Waits while the broker is unavailable.
 * @param uses groups and options whose files this service reads: `tasks`, `model.action_format`; others keep their
 *   addresses
 * @throws SettingsError that names the option, also if a file was never uploaded
 */
export async function receiveRunFile(
  { runId, config }: RunRecord,
  uses: readonly string[],
  { bus, components, cacheDir }: RunFileReceiver,
): Promise<RunFile> {
  const run = parseRunFile(config, components, `run ${runId}`);
  const files = filesOfRun(run, components).filter(({ option }) => uses.some((use) => isWithin(option, use)));
  for (const file of files) file.replace(await fetched(file, runId, bus, cacheDir));
  return run;
}

function isWithin(option: string, use: string): boolean {
  return option === use || option.startsWith(`${use}.`) || option.startsWith(`${use}[`);
}

async function fetched(
  { option, value }: NamedFile,
  runId: string,
  bus: BusService,
  cacheDir: string,
): Promise<string> {
  try {
    return await bus.files.fetch(value, cacheDir);
  } catch (error) {
    if (!(error instanceof BusError) || !['configuration', 'damaged', 'missing'].includes(error.category))
      throw error;
    const message = `run ${runId}: ${option} is ${value}: ${error.message}`;
    throw new SettingsError([{ category: 'file', message }], { cause: error });
  }
}
