import { resolveCheckpoint } from '@ui-rl/bus';
import { parseSharedFileName, type BaseModel } from '@ui-rl/contracts';
import type { ComponentChoice } from '@ui-rl/plugin-kit';
import { type FoundModel, findModel } from '../model-source';
import { logger } from './log';
import type { StartOptions } from './start-options';

/** The folder of a checkpoint, or of an uploaded one, by its address. */
export function locate({ bus, machine: { runsDir, cacheDir } }: StartOptions, name: string): Promise<string> {
  if (parseSharedFileName(name) !== undefined) return bus.files.fetch(name, cacheDir);
  return resolveCheckpoint(name, { runsDir, cacheDir, archive: bus.checkpoints });
}

/** A model that the run file names, without weights for a remote engine. */
export function fetchModel(
  { machine: { hub, models }, components }: Pick<StartOptions, 'machine' | 'components'>,
  name: string,
  {
    engine,
    begun,
  }: {
    engine: ComponentChoice;
    /** The model in the run's newest checkpoint. */
    begun?: BaseModel | undefined;
  },
): Promise<FoundModel> {
  const weights = components.get('engine', engine.name).remote !== true;
  const onProgress = (line: string) => logger.log(line);
  // A folder in a run file refers to another machine's file system.
  return findModel(name, begun, { ...hub, models, weights, folders: false, onProgress });
}
