import { isRunId } from '@ui-rl/contracts';
import { settingsError } from './errors';

/** `<name>-<yyyymmdd-hhmmss>` in UTC. Throws `SettingsError` where the name cannot be part of a run id. */
export function newRunId(name: string, now = new Date()): string {
  const stamp = now.toISOString().slice(0, 19).replaceAll('-', '').replaceAll(':', '').replace('T', '-');
  const id = `${name}-${stamp}`;
  if (!isRunId(id)) {
    throw settingsError(
      'type',
      `logging.run_name is "${name}", expected letters, digits, - and _, at most 80 of them`,
    );
  }
  return id;
}
