import { basename, dirname } from 'node:path';
import type { RunFile } from '@ui-rl/settings';

/**
 * Splits `logging.log_path` into the two values that services use: the folder of all runs and the name of one run in
 * it.
 * @param runsDir the default folder of all runs (`UIRL_RUNS_DIR`)
 * @param services `own` services use the folder of the path; those of a broker store the run under its name in their
 *   folder of all runs, and the
 * note says so
 */
export function placeRun(
  run: RunFile,
  runsDir: string,
  services: 'broker' | 'own',
): { run: RunFile; runsDir: string; note?: string } {
  const { log_path: path } = run.logging;
  if (path === undefined) return { run, runsDir };
  const [folder, name] = [dirname(path), basename(path)];
  const placed = structuredClone(run);
  delete placed.logging.log_path;
  placed.logging.log_dir = name;
  if (services === 'own' || folder === runsDir) return { run: placed, runsDir: folder };
  const note = `logging.log_path is ${path}, but no message tells a service where to write: this run is the folder ${name} where the learner keeps its runs; to have it at ${path}, start the learner with UIRL_RUNS_DIR=${folder}`;
  return { run: placed, runsDir, note };
}
