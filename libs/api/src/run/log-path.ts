import { basename, dirname } from 'node:path';
import type { RunFile } from '@ui-rl/settings';

/**
 * Makes of `logging.log_path` what services understand: the folder of all runs, and the name of one in it.
 * @param runsDir where the services keep runs unless they are told otherwise (`UIRL_RUNS_DIR`)
 * @param services `own` ones can be told otherwise
 */
export function placeRun(
  run: RunFile,
  runsDir: string,
  services: 'broker' | 'own',
): { run: RunFile; runsDir: string } {
  const { log_path: path } = run.logging;
  if (path === undefined) return { run, runsDir };
  const [folder, name] = [dirname(path), basename(path)];
  if (services === 'broker' && folder !== runsDir) {
    throw new Error(
      `logging.log_path is ${path}, but the services of a broker keep runs where they were told to: start the learner with UIRL_RUNS_DIR=${folder} and give --logging.log_dir ${name}`,
    );
  }
  const placed = structuredClone(run);
  delete placed.logging.log_path;
  placed.logging.log_dir = name;
  return { run: placed, runsDir: folder };
}
