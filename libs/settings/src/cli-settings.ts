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

/** Settings of the command line in addition to those of every service. */
export interface CliSettings extends ServiceSettings {
  /** nats-server binary to start if no broker is configured. */
  natsServer: string;
  /** Whether the user configured a broker (`NATS_URL` or `NATS_CONTEXT` is set). */
  hasBroker: boolean;
  /** Whether there is a broker: the user's, or that of `ui-rl up` over the same runs. */
  reachesBroker: boolean;
  /** Seconds that the set-up took, if the caller measured it. */
  setupSeconds: number;
  /** API keys of evaluated endpoints, by address. */
  endpointKeys: Readonly<Record<string, string>>;
  /** API keys of `ui-rl serve tinker`. */
  tinkerServerKeys: string[];
  /** The environment of services that the command line starts: its own, with changes. */
  environmentWith: (changes: Record<string, string | undefined>) => Record<string, string | undefined>;
}

/** Reads the environment of the command line. Throws `SettingsError` with every invalid variable. */
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

/** The downloaded binary, if the system has none. */
function fetchedNatsServer(env: Environment): string | undefined {
  return fetchFolders(env)
    .map((folder) => join(folder, 'bin/nats-server'))
    .find(existsSync);
}
