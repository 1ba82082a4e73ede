import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isRecord, show } from '@ui-rl/plugin-kit';
import { settingsError } from './errors';

/**
 * Address and credentials of a broker in the format of the `nats` command's context files, with the field names of
 * those files (https://github.com/nats-io/jsm.go, natscontext).
 */
export interface NatsContext {
  /** `nats://host:port`, several separated by commas. */
  url?: string;
  user?: string;
  password?: string;
  token?: string;
  /** Path of a `.creds` file. */
  creds?: string;
  /** Paths of PEM files: certificate authority, client certificate and its key. */
  ca?: string;
  cert?: string;
  key?: string;
  /** Inbox prefix for replies, if the user may not use another: `_INBOX.actor`. */
  inbox_prefix?: string;
  /** Prefix of the JetStream API, if it is in another account: `JS.UIRL`. */
  jetstream_api_prefix?: string;
}

const READ = [
  ...(['url', 'user', 'password', 'token', 'creds', 'ca', 'cert', 'key'] as const),
  ...(['inbox_prefix', 'jetstream_api_prefix'] as const),
];
/** Fields that affect the connection and are not supported. */
const NOT_READ = ['nkey', 'nsc', 'user_jwt', 'user_seed', 'socks_proxy', 'jetstream_domain'];

/**
 * File in which `ui-rl up` describes its broker, in the folder of all runs; mode 0600, exists while the broker runs.
 */
export const LOCAL_CONTEXT = 'local/nats/context.json';

/** Reads a context file. Throws a `SettingsError` that names it, without its content. */
export function readNatsContext(file: string): NatsContext {
  const path = resolve(file);
  if (!existsSync(path)) {
    throw settingsError('file', `there is no context file ${path} (NATS_CONTEXT): expected the path of one`);
  }
  const plain = jsonIn(path);
  if (!isRecord(plain)) throw settingsError('file', `${path} must hold a JSON object`);
  const odd = NOT_READ.find((name) => plain[name] !== undefined && plain[name] !== '');
  if (odd !== undefined) {
    throw settingsError('unsupported', `${path} names ${odd}: expected nothing but ${READ.join(', ')}`);
  }
  const context: NatsContext = {};
  for (const name of READ) {
    const value = plain[name];
    if (value === undefined || value === '') continue;
    if (typeof value !== 'string')
      throw settingsError('type', `${name} in ${path} is ${show(typeof value)}, expected a text`);
    context[name] = value;
  }
  return context;
}

/** The broker that `ui-rl up` started over these runs, if it runs and is one of the `servers` (empty: any). */
export function localContext(file: string, servers: readonly string[]): NatsContext | undefined {
  if (!existsSync(file)) return undefined;
  const context = readNatsContext(file);
  const { url = '' } = context;
  return servers.length === 0 || servers.some((server) => place(server) === place(url)) ? context : undefined;
}

function jsonIn(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as unknown;
  } catch (cause) {
    const reason = cause instanceof SyntaxError ? 'it is not JSON' : (cause as NodeJS.ErrnoException).code;
    throw settingsError('file', `the context file ${path} cannot be read: ${reason}`, { cause });
  }
}

/** Host and port, with loopback names normalized. */
function place(server: string): string {
  const [, host = server, port = '4222'] =
    /^[a-z]+:\/\/(?:[^/@]*@)?(\[[^\]]*\]|[^:/]*)(?::(\d+))?/i.exec(server) ?? [];
  return `${/^(localhost|127\.0\.0\.1|\[::1\])$/i.test(host) ? 'loopback' : host}:${port}`;
}
