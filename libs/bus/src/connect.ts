import { readFileSync } from 'node:fs';
import { Logger } from '@nestjs/common';
import {
  AuthorizationError,
  connect,
  credsAuthenticator,
  type NatsConnection,
  type NodeConnectionOptions,
} from '@nats-io/transport-node';
import { DEADLINES, describeError, everyFewSeconds, RETRIES, retry } from '@ui-rl/retry';
import { BusError } from './errors';
import type { BusOptions } from './options';

/**
 * Opens the connection. Waits while NATS is unavailable, as long as the options allow, and fails if NATS rejects the
 * credentials.
 *
 * @throws BusError `unavailable` after the time limit, `closed` if the signal aborts, `authorization`
 */
export async function openConnection(options: BusOptions, logger: Logger): Promise<NatsConnection> {
  const natsOptions = connectionOptions(options);
  const where = [natsOptions.servers].flat().join(', ');
  const { connectWithinMs } = options;
  const limit = connectWithinMs === undefined ? undefined : AbortSignal.timeout(connectWithinMs);
  const ends = [options.signal, limit].filter((signal) => signal !== undefined);
  let waited = false;
  const report = everyFewSeconds((error) => {
    // With a time limit, the final error reports the problem.
    if (limit !== undefined) return;
    logger.warn(`waiting for NATS at ${where}: ${describeError(error)}`);
    waited = true;
  });
  try {
    const connection = await retry(RETRIES.connect, () => connect(natsOptions), {
      signal: AbortSignal.any(ends),
      isTransient: (error) => !(error instanceof AuthorizationError),
      onFailure: report,
    });
    if (waited) logger.log(`NATS at ${where} answers`);
    return connection;
  } catch (error) {
    if (options.signal?.aborted === true) {
      throw new BusError('closed', `stopped while waiting for NATS at ${where}`, { cause: error });
    }
    if (limit?.aborted === true && !(error instanceof AuthorizationError)) {
      throw new BusError('unavailable', `no broker at ${where}: ${describeError(error)}`, { cause: error });
    }
    throw new BusError(
      'authorization',
      `NATS at ${where} refuses the credentials: ${describeError(error)}. Check NATS_CONTEXT, NATS_CREDS, NATS_USER and NATS_PASSWORD, NATS_TOKEN`,
      { cause: error },
    );
  }
}

const USER_INFO = /^([a-z]+:\/\/)([^/@]*)@/;

/** Options of the NATS client. */
export function connectionOptions(options: BusOptions): NodeConnectionOptions {
  if (options.servers.length === 0) {
    throw new BusError(
      'configuration',
      'no NATS server is named: set NATS_URL, for example nats://127.0.0.1:4222',
    );
  }
  const natsOptions: NodeConnectionOptions = {
    ...credentialsInAddresses(options.servers),
    servers: options.servers.map((server) => server.replace(USER_INFO, '$1')),
    name: options.service,
    timeout: DEADLINES.connect.ms,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RETRIES.connect.firstMs,
    reconnectJitter: RETRIES.connect.firstMs,
    ignoreAuthErrorAbort: true,
    pingInterval: 5_000,
    maxPingOut: 2,
  };
  if (options.credentialsFile !== undefined)
    natsOptions.authenticator = readCredentials(options.credentialsFile);
  if (options.user !== undefined) natsOptions.user = options.user;
  if (options.password !== undefined) natsOptions.pass = options.password;
  if (options.token !== undefined) natsOptions.token = options.token;
  if (options.inboxPrefix !== undefined) natsOptions.inboxPrefix = options.inboxPrefix;
  if (options.tls !== undefined) natsOptions.tls = options.tls;
  return natsOptions;
}

/** Credentials from `nats://user:password@host` and `nats://token@host`, which the client ignores. */
function credentialsInAddresses(servers: string[]): Pick<NodeConnectionOptions, 'user' | 'pass' | 'token'> {
  for (const server of servers) {
    const userInfo = USER_INFO.exec(server)?.[2];
    if (userInfo === undefined) continue;
    const [name, password] = userInfo.split(':').map(decodeURIComponent);
    return password === undefined ? { token: name } : { user: name, pass: password };
  }
  return {};
}

function readCredentials(path: string) {
  try {
    return credsAuthenticator(readFileSync(path));
  } catch (error) {
    throw new BusError('configuration', `cannot read the NATS credentials file "${path}" (NATS_CREDS)`, {
      cause: error,
    });
  }
}
