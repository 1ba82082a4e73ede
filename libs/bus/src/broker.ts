import { EventEmitter, setMaxListeners } from 'node:events';
import { Logger } from '@nestjs/common';
import {
  jetstream,
  JetStreamApiError,
  jetstreamManager,
  type JetStreamClient,
  type JetStreamManager,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { DEADLINES, describeError } from '@ui-rl/retry';
import { openConnection } from './connect';
import { BusError } from './errors';
import type { BusOptions } from './options';
import { isUnanswered, withRetry, type RetryContext } from './retry';
import { keepsQueuesWhole } from './server-version';
import { ensureTopology, type Stores } from './topology';

/** Below this limit, neither a dead letter nor the subject list of a stream fits into a message. */
const LEAST_PAYLOAD_BYTES = 64 * 1024;
/** Reserved for the subject and headers of a message. */
const HEADER_BYTES = 4 * 1024;
/** Enough for nearly every message to fit. */
const PLENTY_BYTES = 8 * 1024 * 1024;
const NO_SUCH_CONSUMER = 10014;

/**
 * The connection to NATS with its streams and buckets. Survives a broker that restarts or loses its store. All other
 * parts of the bus build on it.
 */
export class Broker implements RetryContext {
  readonly logger: Logger;
  readonly service: string;
  private readonly replicas: number | undefined;
  private readonly closingController = new AbortController();
  private readonly events = new EventEmitter().setMaxListeners(0);
  private opened: Promise<Stores> | null = null;
  private connected: Promise<void> = Promise.resolve();
  private markConnected: () => void = () => undefined;
  private reconnections = 0;
  private repairing: Promise<void> | null = null;

  private constructor(
    readonly connection: NatsConnection,
    readonly js: JetStreamClient,
    readonly jsm: JetStreamManager,
    options: BusOptions,
  ) {
    this.service = options.service;
    this.replicas = options.replicas;
    this.logger = new Logger(`bus:${options.service}`);
    // Every retried operation listens to it, so many listeners are not a leak.
    setMaxListeners(0, this.closing);
  }

  /**
   * Connects, waiting with a log message while NATS is unavailable, and creates missing streams and buckets. Throws
   * `BusError` `authorization` or `configuration`.
   */
  static async connect(options: BusOptions): Promise<Broker> {
    const connection = await openConnection(options, new Logger(`bus:${options.service}`));
    const { apiPrefix = '$JS.API' } = options;
    const js = jetstream(connection, { apiPrefix, timeout: DEADLINES.publish.ms });
    const manager = { apiPrefix, checkAPI: false, timeout: DEADLINES.publish.ms };
    const jsm = await jetstreamManager(connection, manager);
    const broker = new Broker(connection, js, jsm, options);
    broker.checkLimits();
    void broker.followStatus();
    broker.checkVersion(await withRetry('create the streams', broker, () => broker.firstStores(options)));
    return broker;
  }

  /** Aborts when the connection starts to close. */
  get closing(): AbortSignal {
    return this.closingController.signal;
  }

  /** Maximum content of a message in bytes: the broker's limit minus subject and headers. */
  get maxMessageBytes(): number {
    return this.maxPayloadBytes - HEADER_BYTES;
  }

  /** Counts reconnections: after each, the broker may have another store. */
  get generation(): number {
    return this.reconnections;
  }

  /** Resolves when connected. Messages sent earlier would be buffered and might reach another store. */
  async whenConnected(): Promise<void> {
    await this.connected;
  }

  /** The buckets, recreated if the broker lost its store. */
  stores(): Promise<Stores> {
    const { js, jsm, logger, replicas } = this;
    this.opened ??= ensureTopology({ js, jsm, logger, replicas }).catch((error: unknown) => {
      this.opened = null;
      throw error;
    });
    return this.opened;
  }

  /**
   * A role with its own account waits for an operator to create the streams; without accounts, waiting would never
   * end.
   */
  private async firstStores({ apiPrefix }: BusOptions): Promise<Stores> {
    try {
      return await this.stores();
    } catch (error) {
      if (apiPrefix !== undefined || !isUnanswered(error)) throw error;
      throw new BusError(
        'configuration',
        `JetStream is switched off at NATS: expected nats-server -js, or jetstream {} in its configuration`,
        { cause: error },
      );
    }
  }

  /** See `BusService.deleteConsumer`. */
  async deleteConsumer(stream: string, durable: string): Promise<void> {
    await withRetry(`delete consumer ${durable}`, this, async () => {
      try {
        await this.jsm.consumers.delete(stream, durable);
      } catch (error) {
        if (!(error instanceof JetStreamApiError) || error.code !== NO_SUCH_CONSUMER) throw error;
      }
    });
  }

  /** Calls back after every reconnection; returns an unsubscribe function. */
  onReconnect(callback: () => void): () => void {
    return this.on('reconnect', callback);
  }

  /** Calls back when the broker may have returned with an empty store. */
  onStoresLost(callback: () => void): () => void {
    return this.on('lost', callback);
  }

  /** Reopens streams and buckets after the broker returned with an empty store. */
  async repair(): Promise<void> {
    this.repairing ??= this.reopen().finally(() => {
      this.repairing = null;
    });
    await this.repairing;
  }

  /** Flushes the buffer and closes the connection. */
  async close(): Promise<void> {
    this.closingController.abort();
    if (this.connection.isClosed()) return;
    const timeout = setTimeout(() => void this.connection.close(), DEADLINES.stopBus.ms);
    await this.connection.drain().catch(() => this.connection.close());
    clearTimeout(timeout);
  }

  private on(name: 'reconnect' | 'lost', callback: () => void): () => void {
    this.events.on(name, callback);
    return () => this.events.off(name, callback);
  }

  private async reopen(): Promise<void> {
    if (this.connection.isClosed()) return;
    this.opened = null;
    this.events.emit('lost');
    await this.stores();
  }

  private get maxPayloadBytes(): number {
    return this.connection.info?.max_payload ?? 1024 * 1024;
  }

  private checkLimits(): void {
    const { maxPayloadBytes: found } = this;
    if (found < LEAST_PAYLOAD_BYTES) {
      void this.connection.close();
      throw new BusError(
        'configuration',
        `NATS takes messages of at most ${found} bytes, expected at least ${LEAST_PAYLOAD_BYTES}: raise max_payload in the configuration of nats-server (8MB is a good value)`,
      );
    }
    if (found < PLENTY_BYTES)
      this.logger.log(
        `NATS takes messages of at most ${found} bytes (max_payload): larger ones travel in parts`,
      );
  }

  private checkVersion({ replicated }: Stores): void {
    const { version = 'unknown' } = this.connection.info ?? {};
    if (!replicated || keepsQueuesWhole(version)) return;
    this.logger.warn(
      `several servers keep the streams, and this one is nats-server ${version}, which loses count of a queue when one of them dies: expected 2.11 or newer`,
    );
  }

  private async followStatus(): Promise<void> {
    for await (const status of this.connection.status()) {
      if (status.type === 'disconnect') this.lost(status.server);
      if (status.type === 'error') this.logger.error(`NATS reports: ${describeError(status.error)}`);
      if (status.type === 'reconnect') this.regained(status.server);
    }
    this.markConnected();
  }

  private lost(server: string): void {
    this.logger.warn(`lost NATS at ${server}, reconnecting`);
    this.connected = new Promise((resolve) => (this.markConnected = resolve));
  }

  private regained(server: string): void {
    this.logger.log(`NATS at ${server} answers again`);
    this.reconnections += 1;
    this.markConnected();
    this.events.emit('lost');
    this.events.emit('reconnect');
  }
}
