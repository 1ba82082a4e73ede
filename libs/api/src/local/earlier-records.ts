import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { CliSettings } from '@ui-rl/settings';

/**
 * A sentence about records that earlier versions kept in `runs` of the working directory, or in the folder of a run;
 * undefined if there are none.
 */
export function earlierRecords({ database, runsDir }: CliSettings): string | undefined {
  if (database.kind !== 'pglite') return undefined;
  const places = [...new Set([resolve('runs'), runsDir])].flatMap((runs) => [
    join(runs, 'monitor-db'),
    ...foldersIn(runs).map((run) => join(runs, run, 'monitor-db')),
  ]);
  const found = places.filter((place) => place !== database.dataDir && existsSync(join(place, 'PG_VERSION')));
  if (found.length === 0) return undefined;
  const others = found.length === 1 ? '' : ` and ${found.length - 1} more`;
  return `an earlier version kept records in ${found[0]}${others}; to read them: UIRL_PGLITE_DIR=${found[0]} npx ui-rl monitor`;
}

function foldersIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}
