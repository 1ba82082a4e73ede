import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EnvironmentReader, type Environment } from './environment-reader';
import { LOCAL_CONTEXT } from './nats-context';
import {
  fetchFolders,
  readKeys,
  readServerKeys,
  readServiceSettings,
  type ServiceSettings,
} from './service-settings';

/** What the command line is told by its environment, besides what every service is. */
export interface CliSettings extends ServiceSettings {
  /** nats-server to start where no broker is named. */
  natsServer: string;
  /** A broker of the user's (`NATS_URL` or `NATS_CONTEXT` is set). */
  hasBroker: boolean;
  /** There is one: the user's, or that of `ui-rl up` over the same runs. */
  reachesBroker: boolean;
  /** Seconds that setting up took before, where the caller measured it. */
  setupSeconds: number;
  /** Keys of endpoints that are evaluated, by address. */
  endpointKeys: Readonly<Record<string, string>>;
  /** What clients of `ui-rl serve tinker` have to show, one of them. */
  tinkerServerKeys: string[];
  /** The environment of services that the command line starts: its own, with changes. */
  environmentWith: (changes: Record<string, string | undefined>) => Record<string, string | undefined>;
}

/** Reads the environment of the command line. Throws `SettingsError` naming every variable that is wrong. */
export function readCliSettings(env: Environment = process.env): CliSettings {
  const reader = new EnvironmentReader(env);
  const service = readServiceSettings('cli', env);
  const hasBroker = reader.list('NATS_URL').length > 0 || reader.text('NATS_CONTEXT') !== undefined;
  const settings: CliSettings = {
    ...service,
    natsServer: reader.text('NATS_SERVER_BIN') ?? fetchedNatsServer(env) ?? 'nats-server',
    hasBroker,
    reachesBroker: hasBroker || existsSync(join(service.runsDir, LOCAL_CONTEXT)),
    setupSeconds: Number(reader.text('UIRL_SETUP_SECONDS') ?? 0),
    endpointKeys: readKeys(reader, 'UIRL_ENDPOINT_KEYS'),
    tinkerServerKeys: readServerKeys(reader, 'TINKER_SERVER_KEYS'),
    environmentWith: (changes) => ({ ...env, ...changes }),
  };
  reader.check();
  return settings;
}

/** The one that the set-up has fetched; where the system has none. */
function fetchedNatsServer(env: Environment): string | undefined {
  return fetchFolders(env)
    .map((folder) => join(folder, 'bin/nats-server'))
    .find(existsSync);
}
