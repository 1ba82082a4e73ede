import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EnvironmentReader, type Environment } from './environment-reader';
import { projectRoot } from './project-root';
import { readServiceSettings, type ServiceSettings } from './service-settings';

/** What the command line is told by its environment, besides what every service is. */
export interface CliSettings extends ServiceSettings {
  /** nats-server to start where no broker is named. */
  natsServer: string;
  /** A broker of the user's (`NATS_URL` or `NATS_CONTEXT` is set). */
  hasBroker: boolean;
  /** Seconds that setting up took before, where the caller measured it. */
  setupSeconds: number;
  /** The environment of services that the command line starts: its own, with changes. */
  environmentWith: (changes: Record<string, string | undefined>) => Record<string, string | undefined>;
}

/** Reads the environment of the command line. Throws `SettingsError` naming every variable that is wrong. */
export function readCliSettings(env: Environment = process.env): CliSettings {
  const reader = new EnvironmentReader(env);
  const settings: CliSettings = {
    ...readServiceSettings('cli', env),
    natsServer: reader.text('NATS_SERVER_BIN') ?? fetchedNatsServer(reader) ?? 'nats-server',
    hasBroker: reader.list('NATS_URL').length > 0 || reader.text('NATS_CONTEXT') !== undefined,
    setupSeconds: Number(reader.text('UIRL_SETUP_SECONDS') ?? 0),
    environmentWith: (changes) => ({ ...env, ...changes }),
  };
  reader.check();
  return settings;
}

/** The one that the set-up has fetched, where the system has none. */
function fetchedNatsServer(reader: EnvironmentReader): string | undefined {
  const path = join(reader.text('UIRL_CACHE_DIR') ?? join(projectRoot, '.cache'), 'bin/nats-server');
  return existsSync(path) ? path : undefined;
}
