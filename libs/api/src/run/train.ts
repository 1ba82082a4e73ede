import type { RunFileOptions } from '@ui-rl/settings';
import { startRun, type RunOptions, type TrainResult } from './start-run';

/**
 * Trains until the run ends. Reads the same environment variables as the command line.
 *
 * @param runFile path of a run file, or its options as an object
 * @returns the result; rejects if the run failed
 */
export async function train(
  runFile: string | RunFileOptions,
  options: RunOptions = {},
): Promise<TrainResult> {
  const run = await startRun(runFile, options);
  try {
    return await run.end();
  } finally {
    await run.stop();
  }
}
