import { jetstreamManager, JetStreamApiError, type JetStreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { STREAMS } from '@ui-rl/contracts';
import { DEADLINES, describeError } from '@ui-rl/retry';
import { connectionOptions } from './connect';
import { BusError } from './errors';
import type { BusOptions } from './options';

/** Facts that a broker reports about itself. */
export interface BrokerFacts {
  /** As connected, without credentials. */
  address: string;
  version: string;
  /** Maximum message size in bytes. */
  maxPayloadBytes: number;
  /** Null if JetStream is disabled, or disabled for this account. */
  jetStream: {
    /** Bytes used by streams and their limit; `limit` is null if the account has none. */
    storage: { used: number; limit: number | null };
    /** Names of this project's existing streams. */
    streams: string[];
    /**
     * The server's clock minus this machine's, in ms; null if the server does not report it (nats-server before 2.10,
     * or no stream yet).
     */
    clockOffsetMs: number | null;
  } | null;
}

/** Inspects a broker without waiting for an unavailable one and without creating anything. Throws `BusError`. */
export async function inspectBroker(options: BusOptions): Promise<BrokerFacts> {
  const settings = { ...connectionOptions(options), reconnect: false, maxReconnectAttempts: 0 };
  const where = [settings.servers].flat().join(', ');
  const connection = await connect(settings).catch((cause: unknown) => {
    throw new BusError('configuration', `NATS at ${where} does not answer: ${describeError(cause)}`, {
      cause,
    });
  });
  try {
    const { info } = connection;
    return {
      address: connection.getServer(),
      version: info?.version ?? 'unknown',
      maxPayloadBytes: info?.max_payload ?? 0,
      jetStream: await jetStreamOf(connection, options.apiPrefix),
    };
  } finally {
    await connection.close();
  }
}

async function jetStreamOf(
  connection: NatsConnection,
  apiPrefix = '$JS.API',
): Promise<BrokerFacts['jetStream']> {
  const manager = { apiPrefix, checkAPI: false, timeout: DEADLINES.publish.ms };
  return factsOf(await jetstreamManager(connection, manager));
}

async function factsOf(manager: JetStreamManager): Promise<BrokerFacts['jetStream']> {
  const account = await manager.getAccountInfo().catch(() => null);
  if (account === null) return null;
  const { max_storage: limit } = account.limits;
  const streams: string[] = [];
  let clockOffsetMs: number | null = null;
  for (const name of Object.values(STREAMS)) {
    const began = Date.now();
    const found = await manager.streams.info(name).catch((error: unknown) => {
      if (error instanceof JetStreamApiError) return null;
      throw error;
    });
    if (found === null) continue;
    streams.push(name);
    const { ts } = found as { ts?: string };
    if (ts !== undefined) clockOffsetMs = Date.parse(ts) - (began + Date.now()) / 2;
  }
  return { storage: { used: account.storage, limit: limit < 0 ? null : limit }, streams, clockOffsetMs };
}
