import { EnvironmentReader, type Environment } from './environment-reader';
import { readServiceSettings, type ServiceSettings } from './service-settings';

/** What the command line is told by its environment, besides what every service is. */
export interface CliSettings extends ServiceSettings {
  /** nats-server to start where no broker is named. */
  natsServer: string;
  /** A broker of the user's (`NATS_URL` is set). */
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
    natsServer: reader.text('NATS_SERVER_BIN') ?? 'nats-server',
    hasBroker: reader.list('NATS_URL').length > 0,
    setupSeconds: Number(reader.text('UIRL_SETUP_SECONDS') ?? 0),
    environmentWith: (changes) => ({ ...env, ...changes }),
  };
  reader.check();
  return settings;
}
