import { join, resolve } from 'node:path';
import { isRunId } from '@ui-rl/contracts';
import { withoutUrlSecrets } from '@ui-rl/plugin-kit';
import { EnvironmentReader, type Environment } from './environment-reader';
import { inHome, readHub, type HubSettings } from './hub-settings';
import { readModelNames, type ModelNames } from './model-names';
import { readBlobs, type BlobsSettings } from './blobs-settings';
import { LOCAL_CONTEXT, localContext, readNatsContext, type NatsContext } from './nats-context';
import { projectRoot } from './project-root';

export const LOG_LEVELS = ['error', 'warn', 'log', 'debug', 'verbose'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Connection to NATS, in the form of `BusService.connect`. */
export interface NatsSettings {
  service: string;
  servers: string[];
  credentialsFile?: string;
  user?: string;
  password?: string;
  token?: string;
  /** See `NatsContext`. */
  inboxPrefix?: string;
  apiPrefix?: string;
  /** The file in `NATS_CONTEXT`. */
  contextFile?: string;
  /** Number of replicas of each stream and bucket in a cluster. */
  replicas?: number;
  /** S3 bucket for large data; undefined = stored at the broker. */
  blobs?: BlobsSettings;
  tls?: { caFile?: string; certFile?: string; keyFile?: string; rejectUnauthorized?: boolean };
}

/** The monitor's database; without a URL it runs PGlite in `dataDir`. */
export type DatabaseSettings = { kind: 'postgres'; url: string } | { kind: 'pglite'; dataDir: string };

/** Address of the monitor's page, and access to it. */
export interface MonitorSettings {
  host: string;
  port: number;
  /** Address under which others reach it. */
  publicUrl?: string;
  /** Access token for readers on other machines; generated and stored in `tokenFile` if undefined. */
  token?: string;
  tokenFile: string;
}

/** Address, access and limits of an OpenAI-compatible endpoint. */
export interface EndpointSettings {
  host: string;
  port: number;
  /** Valid API keys; without keys, every client that reaches the address has access. */
  keys: string[];
  /** File for a generated key, if none is given and other machines can reach the address. */
  keyFile: string;
  /** File for the secret that encrypts compacted conversations. */
  sealFile: string;
  /** Maximum number of concurrent requests. */
  maxRequests: number;
  /** Maximum size of a request. */
  maxBodyBytes: number;
}

/** Settings of the endpoint that serves environments. */
export interface EnvironmentEndpointSettings extends EndpointSettings {
  /** Path of the run file whose tasks are served; undefined: the demo tasks. */
  runFile?: string;
  /** OpenEnv's term for servers without `/reset`, `/step` and `/state`: `production`. */
  mode: 'simulation' | 'production';
}

/** Settings of a service from its environment; the run itself is described by its run file. */
export interface ServiceSettings {
  service: string;
  nats: NatsSettings;
  database: DatabaseSettings;
  hub: HubSettings;
  /** Models by name, besides those of the hub. */
  models: ModelNames;
  /** Folder of all runs, absolute. */
  runsDir: string;
  /** Folder of downloads and data derived from them, absolute. */
  cacheDir: string;
  /** Folder of adapters for sampling servers outside of the project, absolute. */
  adaptersDir: string;
  /** API keys of such servers, by address. */
  samplerKeys: Readonly<Record<string, string>>;
  /** The only run that this process serves; undefined = any. */
  run?: string;
  monitor: MonitorSettings;
  /** OpenAI-compatible endpoint of the policy (learner); undefined = disabled. */
  policyEndpoint?: EndpointSettings;
  /** Endpoint for sessions of outside agents (actor); undefined = disabled. */
  agentEndpoint?: EndpointSettings;
  /** Endpoint that serves environments (env); undefined = disabled. */
  environmentEndpoint?: EnvironmentEndpointSettings;
  /** Address of health checks; undefined = disabled. */
  health?: { host: string; port: number };
  /** Address that receives traces; undefined = disabled. */
  tracesUrl?: string;
  /** Chromium to use instead of the one that is found. */
  chromiumBin?: string;
  /** Environments that an env service offers; empty = that of the run file. */
  environments: string[];
  /** Additional plugins, besides those of the run file. */
  plugins: string[];
  logLevel: LogLevel;
}

/**
 * Reads the environment. Only this function and `libs/settings` as a whole do. Throws `SettingsError` with every
 * invalid variable. Variables: see `ENVIRONMENT_VARIABLES`.
 */
export function readServiceSettings(service: string, env: Environment = process.env): ServiceSettings {
  const reader = new EnvironmentReader(env);
  const runsDir = readRunsDir(reader);
  const settings: ServiceSettings = {
    service,
    nats: readNats(service, reader, runsDir),
    database: readDatabase(reader, runsDir),
    hub: readHub(reader),
    models: readModelNames(reader),
    runsDir,
    cacheDir: readCacheDir(reader),
    adaptersDir: resolve(reader.text('UIRL_ADAPTERS_DIR') ?? join(runsDir, '.adapters')),
    samplerKeys: readKeys(reader, 'UIRL_SAMPLER_KEYS'),
    run: readRun(reader),
    monitor: {
      host: reader.text('MONITOR_HOST') ?? '127.0.0.1',
      port: reader.integer('MONITOR_PORT', 8080, 0, 65_535),
      publicUrl: readPublicUrl(reader),
      token: readToken(reader),
      tokenFile: join(runsDir, 'monitor-token'),
    },
    policyEndpoint: readEndpoint(reader, 'POLICY', join(runsDir, 'policy')),
    agentEndpoint: readEndpoint(reader, 'AGENTS', join(runsDir, 'agents')),
    environmentEndpoint: readEnvironmentEndpoint(reader, runsDir),
    health: readHealth(reader),
    tracesUrl: readTracesUrl(reader),
    chromiumBin: reader.text('CHROMIUM_BIN'),
    environments: reader.list('UIRL_ENVIRONMENTS'),
    plugins: reader.list('UIRL_PLUGINS'),
    logLevel: reader.choice('UIRL_LOG_LEVEL', LOG_LEVELS, 'log'),
  };
  reader.check();
  return settings;
}

/**
 * Values of the variables that a component declares; unset ones are missing. Throws `SettingsError` if a secret's
 * file cannot be read.
 */
export function readVariables(
  names: readonly string[],
  env: Environment = process.env,
): Record<string, string> {
  const reader = new EnvironmentReader(env);
  const entries = names.flatMap((name) => {
    const value = reader.text(name);
    return value === undefined ? [] : [[name, value]];
  });
  reader.throwProblems();
  return Object.fromEntries(entries) as Record<string, string>;
}

/** Folders to which the set-up downloads: that of a clone, and that of an installed package. */
export function fetchFolders(env: Environment = process.env): string[] {
  const reader = new EnvironmentReader(env);
  return [reader.text('UIRL_CACHE_DIR') ?? join(projectRoot, '.cache'), readCacheDir(reader)];
}

function readNats(service: string, reader: EnvironmentReader, runsDir: string): NatsSettings {
  const servers = reader.list('NATS_URL');
  for (const server of servers) {
    if (!/^(nats|tls):\/\/[^/\s]+$/.test(server)) {
      reader.refuse(
        'NATS_URL',
        withoutUrlSecrets(server),
        'nats://host:port or tls://host:port, several separated by commas',
        null,
      );
    }
  }
  const own: Credential = {
    credentialsFile: reader.text('NATS_CREDS'),
    user: reader.text('NATS_USER'),
    password: reader.text('NATS_PASSWORD'),
    token: reader.text('NATS_TOKEN'),
  };
  const named = Object.values(own).some((value) => value !== undefined) || servers.some(hasUserInfo);
  const contextFile = reader.text('NATS_CONTEXT');
  const context = contextOf(contextFile, named ? undefined : join(runsDir, LOCAL_CONTEXT), servers);
  const all = servers.length > 0 ? servers : (context.url?.split(',') ?? ['nats://127.0.0.1:4222']);
  return {
    service,
    servers: all,
    ...(named ? own : credentialOf(context)),
    ...(contextFile === undefined ? {} : { contextFile: resolve(contextFile) }),
    ...readReplicas(reader),
    ...readBlobs(reader),
    tls: readTls(reader, all, context),
  };
}

function readReplicas(reader: EnvironmentReader): Pick<NatsSettings, 'replicas'> {
  if (reader.text('NATS_REPLICAS') === undefined) return {};
  return { replicas: reader.integer('NATS_REPLICAS', 1, 1, 5) };
}

/** The context in `NATS_CONTEXT`; else that of `ui-rl up`, unless the user configures other credentials. */
function contextOf(
  named: string | undefined,
  local: string | undefined,
  servers: readonly string[],
): NatsContext {
  if (named !== undefined) return readNatsContext(named);
  return (local === undefined ? undefined : localContext(local, servers)) ?? {};
}

/** Credentials at a broker. */
type Credential = Pick<
  NatsSettings,
  'credentialsFile' | 'user' | 'password' | 'token' | 'inboxPrefix' | 'apiPrefix'
>;

function credentialOf(context: NatsContext): Credential {
  const {
    creds,
    user,
    password,
    token,
    inbox_prefix: inboxPrefix,
    jetstream_api_prefix: apiPrefix,
  } = context;
  return { credentialsFile: creds, user, password, token, inboxPrefix, apiPrefix };
}

function hasUserInfo(server: string): boolean {
  return /^[a-z]+:\/\/[^/]*@/i.test(server);
}

function readTls(
  reader: EnvironmentReader,
  servers: readonly string[],
  context: NatsContext,
): NatsSettings['tls'] {
  const caFile = reader.text('NATS_TLS_CA') ?? context.ca;
  const certFile = reader.text('NATS_TLS_CERT') ?? context.cert;
  const keyFile = reader.text('NATS_TLS_KEY') ?? context.key;
  const rejectUnauthorized = reader.boolean('NATS_TLS_VERIFY', true);
  if ((certFile === undefined) !== (keyFile === undefined)) {
    reader.refuse('NATS_TLS_CERT', certFile ?? '', 'to be set together with NATS_TLS_KEY', null);
  }
  const wanted = caFile !== undefined || certFile !== undefined || !rejectUnauthorized;
  const asked = servers.some((server) => server.startsWith('tls://'));
  return wanted || asked ? { caFile, certFile, keyFile, rejectUnauthorized } : undefined;
}

/** DATABASE_URL, or the POSTGRES_* variables if POSTGRES_HOST is set. */
function readDatabase(reader: EnvironmentReader, runsDir: string): DatabaseSettings {
  const url = reader.text('DATABASE_URL');
  if (url !== undefined) {
    if (!/^postgres(ql)?:\/\//.test(url)) {
      reader.refuse(
        'DATABASE_URL',
        withoutUrlSecrets(url),
        'postgresql://user:password@host:port/database',
        null,
      );
    }
    return { kind: 'postgres', url };
  }
  const host = reader.text('POSTGRES_HOST');
  if (host === undefined)
    return {
      kind: 'pglite',
      dataDir: resolve(reader.text('UIRL_PGLITE_DIR') ?? join(runsDir, 'monitor-db')),
    };
  const user = encodeURIComponent(reader.text('POSTGRES_USER') ?? 'postgres');
  const password = reader.text('POSTGRES_PASSWORD');
  const secret = password === undefined ? '' : `:${encodeURIComponent(password)}`;
  const port = reader.integer('POSTGRES_PORT', 5432, 1, 65_535);
  const database = encodeURIComponent(reader.text('POSTGRES_DB') ?? 'postgres');
  return { kind: 'postgres', url: `postgresql://${user}${secret}@${host}:${port}/${database}` };
}

function readPublicUrl(reader: EnvironmentReader): string | undefined {
  const url = reader.text('MONITOR_URL');
  if (url === undefined || /^https?:\/\/[^\s#?]+$/.test(url)) return url;
  return reader.refuse('MONITOR_URL', url, 'http://host:port or https://host/path', undefined);
}

function readHealth(reader: EnvironmentReader): ServiceSettings['health'] {
  if (reader.text('HEALTH_PORT') === undefined) return undefined;
  const host = reader.text('HEALTH_HOST') ?? '127.0.0.1';
  return { host, port: reader.integer('HEALTH_PORT', 0, 0, 65_535) };
}

/**
 * @param prefix of its variables: with `POLICY` it reads POLICY_PORT, without which it is disabled
 * @param file prefix of the names of its secrets' files
 */
function readEndpoint(reader: EnvironmentReader, prefix: string, file: string): EndpointSettings | undefined {
  if (reader.text(`${prefix}_PORT`) === undefined) return undefined;
  const keys = readServerKeys(reader, `${prefix}_API_KEYS`);
  return {
    host: reader.text(`${prefix}_HOST`) ?? '127.0.0.1',
    port: reader.integer(`${prefix}_PORT`, 0, 0, 65_535),
    keys,
    keyFile: `${file}-key`,
    sealFile: `${file}-seal`,
    maxRequests: reader.integer(`${prefix}_MAX_REQUESTS`, 64, 1, 10_000),
    maxBodyBytes: reader.integer(`${prefix}_MAX_BODY_MB`, 32, 1, 1_024) * 2 ** 20,
  };
}

/** Valid API keys of a server of this project. */
export function readServerKeys(reader: EnvironmentReader, variable: string): string[] {
  const keys = reader.list(variable);
  if (!keys.every((key) => /^[\x21-\x7e]{16,}$/.test(key))) {
    reader.refuse(variable, '[hidden]', 'at least 16 characters without spaces each', null);
  }
  return keys;
}

function readEnvironmentEndpoint(
  reader: EnvironmentReader,
  runsDir: string,
): EnvironmentEndpointSettings | undefined {
  const endpoint = readEndpoint(reader, 'ENVIRONMENTS', join(runsDir, 'environments'));
  const mode = reader.choice('ENVIRONMENTS_MODE', ['simulation', 'production'] as const, 'simulation');
  const runFile = reader.text('ENVIRONMENTS_RUN_FILE');
  if (endpoint === undefined) return undefined;
  return { ...endpoint, mode, ...(runFile === undefined ? {} : { runFile: resolve(runFile) }) };
}

/** In the form of OpenTelemetry's specification of OTLP over HTTP. */
function readTracesUrl(reader: EnvironmentReader): string | undefined {
  const own = reader.text('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const base = reader.text('OTEL_EXPORTER_OTLP_ENDPOINT');
  const name = own === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
  const url = own ?? (base === undefined ? undefined : `${base.replace(/\/+$/, '')}/v1/traces`);
  if (url === undefined || /^https?:\/\/[^\s#?]+$/.test(url)) return url;
  return reader.refuse(name, withoutUrlSecrets(own ?? base ?? ''), 'http://host:port', undefined);
}

function readToken(reader: EnvironmentReader): string | undefined {
  const token = reader.text('MONITOR_TOKEN');
  if (token === undefined || /^[\x21-\x7e]{16,}$/.test(token)) return token;
  return reader.refuse('MONITOR_TOKEN', '[hidden]', 'at least 16 characters without spaces', undefined);
}

/** A common folder for all working directories, so that runs are found and compared later. */
function readRunsDir(reader: EnvironmentReader): string {
  const data = join(reader.text('XDG_DATA_HOME') ?? '~/.local/share', 'ui-rl');
  return resolve(inHome(reader.text('UIRL_RUNS_DIR') ?? join(data, 'runs')));
}

function readCacheDir(reader: EnvironmentReader): string {
  const home = join(reader.text('XDG_CACHE_HOME') ?? '~/.cache', 'ui-rl');
  return resolve(inHome(reader.text('UIRL_CACHE_DIR') ?? home));
}

/** Keys by address: each is sent only to its own server, because a run file may name any server. */
export function readKeys(
  reader: EnvironmentReader,
  variable: 'UIRL_SAMPLER_KEYS' | 'UIRL_ENDPOINT_KEYS',
): Record<string, string> {
  const keys: Record<string, string> = {};
  for (const entry of reader.list(variable)) {
    const [, address, key] = /^(https?:\/\/[^/=\s]+)=([\x21-\x7e]+)$/.exec(entry) ?? [];
    if (address !== undefined) keys[new URL(address).origin] = key;
    else reader.refuse(variable, '[hidden]', 'http://host:port=key, several separated by commas', null);
  }
  return keys;
}

function readRun(reader: EnvironmentReader): string | undefined {
  const run = reader.text('UIRL_RUN');
  if (run === undefined || isRunId(run)) return run;
  return reader.refuse('UIRL_RUN', run, 'a run id: letters, digits, - and _', undefined);
}

/** Nest's log levels from the most severe to the chosen one. */
export function logLevels(level: LogLevel): ('fatal' | LogLevel)[] {
  return ['fatal', ...LOG_LEVELS.slice(0, LOG_LEVELS.indexOf(level) + 1)];
}
