import { randomInt } from 'node:crypto';
import { isRunId } from '@ui-rl/contracts';
import { settingsError } from './errors';

/** Random characters at the end of an id, so that runs that start in the same second have separate folders. */
const RANDOM_LENGTH = 3;

/**
 * `<name>-<yyyymmdd-hhmmss>-<random>`, the time in UTC. Throws `SettingsError` if the name cannot be part of a run
 * id.
 */
export function newRunId(name: string, now = new Date()): string {
  const stamp = now.toISOString().slice(0, 19).replaceAll('-', '').replaceAll(':', '').replace('T', '-');
  const random = randomInt(36 ** RANDOM_LENGTH)
    .toString(36)
    .padStart(RANDOM_LENGTH, '0');
  const id = `${name}-${stamp}-${random}`;
  if (!isRunId(id)) {
    throw settingsError(
      'type',
      `logging.run_name is "${name}", expected letters, digits, - and _, at most 80 of them`,
    );
  }
  return id;
}
