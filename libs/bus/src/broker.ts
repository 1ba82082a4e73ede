import { EventEmitter } from 'node:events';
import { Logger } from '@nestjs/common';
import {
  jetstream,
  jetstreamManager,
  type JetStreamClient,
  type JetStreamManager,
  type PubAck,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { isRunId, subjects, type RunEvent } from '@ui-rl/contracts';
import { DEADLINES } from '@ui-rl/retry';
import { writeJson } from './codec';
import { openConnection } from './connect';
import { BusError, describeError, tooLarge } from './errors';
import type { BusOptions } from './options';
import { withRetry, type RetryContext } from './retry';
import { ensureTopology, type Stores } from './topology';

export type EventBody<E> = E extends RunEvent ? Omit<E, 'at'> & { at?: string } : never;

/**
 * The connection to NATS, the streams and buckets behind it, and what it takes to survive a broker that goes away and comes
 * back. Everything else of the bus stands on it.
 */
export class Broker implements RetryContext {
  readonly logger: Logger;
  readonly service: string;
  private readonly closingController = new AbortController();
  private readonly events = new EventEmitter().setMaxListeners(0);
  private opened: Promise<Stores> | null = null;
  private repairing: Promise<void> | null = null;

  private constructor(
    readonly connection: NatsConnection,
    readonly js: JetStreamClient,
    readonly jsm: JetStreamManager,
    options: BusOptions,
  ) {
    this.service = options.service;
    this.logger = new Logger(`bus:${options.service}`);
  }

  /**
   * Connects, waiting (and saying so) while NATS is away, and creates the streams and buckets that are missing.
   * Throws `BusError` `authorization` or `configuration`.
   */
  static async connect(options: BusOptions): Promise<Broker> {
    const connection = await openConnection(options, new Logger(`bus:${options.service}`));
    const js = jetstream(connection, { timeout: DEADLINES.publish.ms });
    const jsm = await jetstreamManager(connection, { checkAPI: false, timeout: DEADLINES.publish.ms });
    const broker = new Broker(connection, js, jsm, options);
    void broker.followStatus();
    await withRetry('create the streams', broker, () => broker.stores());
    return broker;
  }

  /** Aborts when the connection starts to close. */
  get closing(): AbortSignal {
    return this.closingController.signal;
  }

  /** Largest message the broker takes, in bytes. */
  get maxPayloadBytes(): number {
    return this.connection.info?.max_payload ?? 1024 * 1024;
  }

  /** The buckets, created anew after the broker lost its store. */
  stores(): Promise<Stores> {
    this.opened ??= ensureTopology(this.js, this.jsm, this.logger).catch((error: unknown) => {
      this.opened = null;
      throw error;
    });
    return this.opened;
  }

  /** See `BusService.publishJson`. */
  async publishJson(subject: string, value: unknown, id: string): Promise<PubAck> {
    const payload = writeJson(value);
    if (payload.byteLength > this.maxPayloadBytes) {
      throw new BusError('too_large', tooLarge(subject, payload.byteLength, this.maxPayloadBytes));
    }
    return withRetry(`publish to ${subject}`, this, () =>
      this.js.publish(subject, payload, { msgID: id, timeout: DEADLINES.publish.ms }),
    );
  }

  /** See `BusService.event`. */
  async event(event: EventBody<RunEvent>, id: string): Promise<void> {
    if (!isRunId(event.runId)) throw new BusError('configuration', `"${event.runId}" is no run id`);
    const at = event.at ?? new Date().toISOString();
    await this.publishJson(
      subjects.event(event.runId, event.type),
      { ...event, at },
      `${event.runId}.${event.type}.${id}`,
    );
  }

  /** Calls back after every reconnection; returns how to stop that. */
  onReconnect(callback: () => void): () => void {
    return this.on('reconnect', callback);
  }

  /** Calls back when the broker may have come back with an empty store. */
  onStoresLost(callback: () => void): () => void {
    return this.on('lost', callback);
  }

  /** Opens streams and buckets again, as after a broker came back with an empty store. */
  async repair(): Promise<void> {
    this.repairing ??= this.reopen().finally(() => {
      this.repairing = null;
    });
    await this.repairing;
  }

  /** Sends what is buffered and closes. */
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

  private async followStatus(): Promise<void> {
    for await (const status of this.connection.status()) {
      if (status.type === 'disconnect') this.logger.warn(`lost NATS at ${status.server}, reconnecting`);
      if (status.type === 'error') this.logger.error(`NATS reports: ${describeError(status.error)}`);
      if (status.type === 'reconnect') {
        this.logger.log(`NATS at ${status.server} answers again`);
        this.events.emit('lost');
        this.events.emit('reconnect');
      }
    }
  }
}
