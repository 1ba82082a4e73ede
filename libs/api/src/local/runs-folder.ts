import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeError } from '@ui-rl/retry';
import { assertWritable } from './writable-folder';

/**
 * Creates the folder of all runs, in which the started services store theirs.
 *
 * @throws Error if the folder is not writable, before any service starts
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

/** Creates a folder and writes to it: file modes alone do not show whether that works. */
export async function probeFolder(folder: string): Promise<void> {
  const probe = join(folder, `.ui-rl-probe-${process.pid}`);
  // On a read-only file system, mkdir reports a missing folder instead.
  await assertWritable(folder);
  await mkdir(folder, { recursive: true });
  await writeFile(probe, 'can be removed');
  await rm(probe);
}
