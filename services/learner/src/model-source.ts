import { Logger } from '@nestjs/common';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { resolveModel } from '@ui-rl/models';
import type { LearnerOptions } from './options';

/** Says in a run's folder which files of the hub it began with. */
interface ModelFile {
  name: string;
  commit: string;
}

const FILE = 'model.json';

/**
 * The folder of a run's model: one of the hub is fetched where the cache lacks it. A run that goes on takes the commit it began
 * with, though the branch may have moved: its adapter belongs to those weights.
 */
export async function modelFolderOf(
  { model: name, hub: hubOptions, runsDir }: Pick<LearnerOptions, 'model' | 'hub' | 'runsDir'>,
  runId: string,
): Promise<string> {
  const runDir = join(runsDir, runId);
  const begun = await readModelFile(join(runDir, FILE));
  const pinned = begun?.name === name ? `${name.replace(/@.*/, '')}@${begun.commit}` : name;
  const logger = new Logger('learner');
  const { dir, hub } = await resolveModel(pinned, { ...hubOptions, onProgress: (line) => logger.log(line) });
  if (hub !== undefined) {
    logger.log(`${hub.id} at commit ${hub.commit} is taken from ${dir}`);
    const file: ModelFile = { name, commit: hub.commit };
    await mkdir(runDir, { recursive: true });
    await writeFile(join(runDir, FILE), `${JSON.stringify(file)}\n`);
  }
  return dir;
}

async function readModelFile(path: string): Promise<ModelFile | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return text === undefined ? undefined : (JSON.parse(text) as ModelFile);
}
