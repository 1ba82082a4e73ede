import { resolveCheckpoint } from '@ui-rl/bus';
import { parseSharedFileName } from '@ui-rl/contracts';
import type { StartOptions } from './start-options';

/** The folder of a checkpoint, or of an uploaded one, by its address. */
export function locate({ bus, machine: { runsDir, cacheDir } }: StartOptions, name: string): Promise<string> {
  if (parseSharedFileName(name) !== undefined) return bus.files.fetch(name, cacheDir);
  return resolveCheckpoint(name, { runsDir, cacheDir, archive: bus.checkpoints });
}
