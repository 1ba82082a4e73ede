import { basename, dirname } from 'node:path';
import type { RunFile } from '@ui-rl/settings';

/**
 * Makes of `logging.log_path` what services understand: the folder of all runs, and the name of one in it.
 * @param runsDir where the services keep runs unless they are told otherwise (`UIRL_RUNS_DIR`)
 * @param services `own` ones can be told otherwise; those of a broker keep the run's folder under its name where they keep all runs, which the
 * note says
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
