import type { RunFileOptions } from '@ui-rl/settings';
import { startRun, type RunOptions, type TrainResult } from './start-run';

/**
 * Trains to the end. What the environment says counts as for the command line.
 *
 * @param runFile path of a run file, or its options as an object
 * @returns what came of it; rejects where the run failed
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
