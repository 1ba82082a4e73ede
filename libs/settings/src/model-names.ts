import { join, resolve } from 'node:path';
import type { EnvironmentReader } from './environment-reader';
import { settingsError } from './errors';
import { projectRoot } from './project-root';

/** Name → folder of models on this machine, besides those of the hub. */
export type ModelNames = Readonly<Record<string, string>>;

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** `UIRL_MODELS`, plus the bundled model. */
export function readModelNames(reader: EnvironmentReader): ModelNames {
  const names: Record<string, string> = { small: join(projectRoot, 'deploy/local/model') };
  for (const entry of reader.list('UIRL_MODELS')) {
    const [, name, folder] = /^([^=]*)=(.+)$/.exec(entry) ?? [];
    if (name !== undefined && NAME.test(name)) names[name] = resolve(folder);
    else
      reader.refuse(
        'UIRL_MODELS',
        entry,
        'name=folder, several separated by commas, names without "/"',
        null,
      );
  }
  return names;
}

/**
 * The value of `UIRL_MODELS` that gives a process these names. Throws a `SettingsError` if a folder cannot be
 * expressed in it.
 */
export function writeModelNames(models: ModelNames): string {
  const odd = Object.values(models).find((folder) => folder.includes(','));
  if (odd === undefined)
    return Object.entries(models)
      .map((entry) => entry.join('='))
      .join(',');
  throw settingsError(
    'file',
    `the folder ${odd} of a model has a comma in its path, which UIRL_MODELS separates folders by: rename it`,
  );
}
