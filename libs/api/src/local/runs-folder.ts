import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeError } from '@ui-rl/retry';
import { assertWritable } from './writable-folder';

/**
 * Makes the folder of all runs, where services that are started keep theirs.
 *
 * @throws Error where it cannot be written to, before anything is started
 */
export async function makeRunsFolder(runsDir: string): Promise<void> {
  try {
    await probeFolder(runsDir);
  } catch (error) {
    throw new Error(
      `cannot write to ${runsDir}, where runs are kept: ${describeError(error)}. Set UIRL_RUNS_DIR to a folder that you can write to`,
      { cause: error },
    );
  }
}

/** Makes a folder and writes into it; modes alone do not tell whether one can. */
export async function probeFolder(folder: string): Promise<void> {
  const probe = join(folder, `.ui-rl-probe-${process.pid}`);
  // On a read-only file system mkdir says that there is no such folder.
  await assertWritable(folder);
  await mkdir(folder, { recursive: true });
  await writeFile(probe, 'can be removed');
  await rm(probe);
}
