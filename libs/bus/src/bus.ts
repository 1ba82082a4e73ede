import { EventEmitter } from 'node:events';
import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import {
  jetstream,
  jetstreamManager,
  type JetStreamClient,
  type JetStreamManager,
  type PubAck,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { BUCKETS, isRunId, subjects, type Reply, type RunEvent } from '@ui-rl/contracts';
import { BlobStore, FileStore } from './blobs';
import { writeJson, type MessageClass } from './codec';
import { openConnection } from './connect';
import { startConsumption, type ConsumeOptions, type Consumption } from './consume';
import { BusError, describeError, tooLarge } from './errors';
import { KvBucket } from './kv';
import type { BusOptions } from './options';
import { request, type RequestOptions } from './request';
import { startResponder, type Responder, type RespondOptions } from './respond';
import { withRetry, type RetryContext } from './retry';
import { RunDirectory } from './runs';
import { howToFind, runOfSubject, toDeadLetter, type DeadLetter } from './dead-letter';
import { ensureTopology, type Stores } from './topology';

const JETSTREAM_TIMEOUT_MS = 3_000;
const CLOSE_TIMEOUT_MS = 15_000;

type EventBody<E> = E extends RunEvent ? Omit<E, 'at'> & { at?: string } : never;

/** One connection to NATS and what the services do over it. Survives a broker that goes away and comes back. */
export class BusService {
  /** Identity of this process among those of the same service. */
  readonly instance = randomUUID().slice(0, 8);
  readonly logger: Logger;
  readonly service: string;
  /** JSON by key: run records, phases, policy and loader states. */
  readonly runsBucket: KvBucket;
  readonly runs: RunDirectory;
  readonly deadLetterBucket: KvBucket;
  readonly blobs: BlobStore;
  readonly checkpoints: FileStore;

  private readonly closingController = new AbortController();
  private readonly reconnects = new EventEmitter().setMaxListeners(0);
  private readonly running = new Set<Consumption | Responder>();
  private stores: Promise<Stores> | null = null;
  private repairing: Promise<void> | null = null;

  private constructor(
    readonly connection: NatsConnection,
    private readonly js: JetStreamClient,
    private readonly jsm: JetStreamManager,
    options: BusOptions,
  ) {
    this.service = options.service;
    this.logger = new Logger(`bus:${options.service}`);
    const retry = this.retryContext();
    const kv = (name: 'runs' | 'deadLetters') =>
      new KvBucket(BUCKETS[name], {
        ...retry,
        bucket: async () => (await this.openStores())[name],
        onReconnect: (callback) => this.onReconnect(callback),
      });
    this.runsBucket = kv('runs');
    this.deadLetterBucket = kv('deadLetters');
    this.blobs = new BlobStore({
      ...retry,
      store: async () => (await this.openStores()).blobs,
      lastMessage: async (subject) => {
        const message = await jsm.streams.getMessage(`OBJ_${BUCKETS.blobs}`, { last_by_subj: subject });
        return message?.data ?? null;
      },
    });
    this.checkpoints = new FileStore({ ...retry, store: async () => (await this.openStores()).checkpoints });
    this.runs = new RunDirectory(this);
  }

  /**
   * Connects, waiting (and saying so) while NATS is away, and creates the streams and buckets that are missing.
   * Throws `BusError` `authorization` or `configuration`.
   */
  static async connect(options: BusOptions): Promise<BusService> {
    const logger = new Logger(`bus:${options.service}`);
    const connection = await openConnection(options, logger);
    const js = jetstream(connection, { timeout: JETSTREAM_TIMEOUT_MS });
    const jsm = await jetstreamManager(connection, { checkAPI: false, timeout: JETSTREAM_TIMEOUT_MS });
    const bus = new BusService(connection, js, jsm, options);
    void bus.followStatus();
    await withRetry('create the streams', bus.retryContext(), () => bus.openStores());
    return bus;
  }

  /** Aborts when the bus starts to close. */
  get closing(): AbortSignal {
    return this.closingController.signal;
  }

  /** Largest message the broker takes, in bytes. */
  get maxPayloadBytes(): number {
    return this.connection.info?.max_payload ?? 1024 * 1024;
  }

  /**
   * Stores a message in the stream of its subject and returns when the broker has it on disk. The id makes it
   * idempotent: published again within an hour it is stored once. Waits while the broker is away.
   * Throws `BusError` `too_large`.
   */
  async publishJson(subject: string, value: unknown, id: string): Promise<PubAck> {
    const payload = writeJson(value);
    this.assertFits(subject, payload);
    return withRetry(`publish to ${subject}`, this.retryContext(), () =>
      this.js.publish(subject, payload, { msgID: id, timeout: JETSTREAM_TIMEOUT_MS }),
    );
  }

  /** Publishes an event of a run; `id` names what happened, so that telling it twice is stored once. */
  async event(event: EventBody<RunEvent>, id: string): Promise<void> {
    if (!isRunId(event.runId)) throw new BusError('configuration', `"${event.runId}" is no run id`);
    const at = event.at ?? new Date().toISOString();
    await this.publishJson(
      subjects.event(event.runId, event.type),
      { ...event, at },
      `${event.runId}.${event.type}.${id}`,
    );
  }

  /**
   * Asks and waits for the answer; both ways MessagePack. Never throws for what the other side or the network does:
   * failures are replies with a code, see `RequestOptions`.
   */
  async request<T>(
    subject: string,
    value: unknown,
    timeoutMs: number,
    schema?: MessageClass<T>,
    options: RequestOptions = {},
  ): Promise<Reply<T>> {
    return request(this, subject, value, timeoutMs, schema, options);
  }

  /** Reads a stream with a durable consumer until stopped. Decorated Nest handlers come here too. */
  async consume<T>(options: ConsumeOptions<T>): Promise<Consumption> {
    const consumption = await startConsumption(this, this.jsm, this.js, options);
    return this.track(consumption);
  }

  /** Answers requests on a subject until stopped. */
  respond<T>(options: RespondOptions<T>): Responder {
    return this.track(startResponder(this, options));
  }

  /** Puts a message that cannot be handled where a person finds it, and tells it in the events of its run. */
  async deadLetter(
    message: { key: string; subject: string; reason: string },
    payload: Uint8Array,
  ): Promise<void> {
    const record: DeadLetter = toDeadLetter({ ...message, service: this.service }, payload);
    await this.deadLetterBucket.put(record.key, record);
    this.logger.error(
      `dead letter from ${record.subject}: ${record.reason}. See it with: ${howToFind(record.key)}`,
    );
    const runId = runOfSubject(message.subject);
    if (runId === null || !isRunId(runId)) return;
    const { service, subject, key, reason } = record;
    await this.event({ type: 'dead_letter', runId, service, subject, key, reason }, key);
  }

  /** Calls back after every reconnection; returns how to stop that. */
  onReconnect(callback: () => void): () => void {
    this.reconnects.on('reconnect', callback);
    return () => this.reconnects.off('reconnect', callback);
  }

  /** Opens streams and buckets again, as after a broker came back with an empty store. */
  async repair(): Promise<void> {
    this.repairing ??= this.reopen().finally(() => {
      this.repairing = null;
    });
    await this.repairing;
  }

  /** Stops taking messages, lets handlers finish, sends what is buffered, closes. */
  async close(): Promise<void> {
    if (this.closing.aborted) return;
    await Promise.all([...this.running].map((part) => part.stop()));
    this.closingController.abort();
    if (this.connection.isClosed()) return;
    const timeout = setTimeout(() => void this.connection.close(), CLOSE_TIMEOUT_MS);
    await this.connection.drain().catch(() => this.connection.close());
    clearTimeout(timeout);
  }

  /** Throws `BusError` `too_large` where the broker would refuse the message. */
  assertFits(subject: string, payload: Uint8Array): void {
    const limit = this.maxPayloadBytes;
    if (payload.byteLength <= limit) return;
    throw new BusError('too_large', tooLarge(subject, payload.byteLength, limit));
  }

  retryContext(): RetryContext {
    return { closing: this.closing, logger: this.logger, repair: () => this.repair() };
  }

  private track<P extends Consumption | Responder>(part: P): P {
    this.running.add(part);
    void part.ended.then(() => this.running.delete(part));
    return part;
  }

  private openStores(): Promise<Stores> {
    this.stores ??= ensureTopology(this.js, this.jsm, this.logger).catch((error: unknown) => {
      this.stores = null;
      throw error;
    });
    return this.stores;
  }

  private async reopen(): Promise<void> {
    if (this.connection.isClosed()) return;
    this.stores = null;
    this.blobs.forgetKnown();
    await this.openStores();
  }

  private async followStatus(): Promise<void> {
    for await (const status of this.connection.status()) {
      if (status.type === 'disconnect') this.logger.warn(`lost NATS at ${status.server}, reconnecting`);
      if (status.type === 'error') this.logger.error(`NATS reports: ${describeError(status.error)}`);
      if (status.type === 'reconnect') {
        this.logger.log(`NATS at ${status.server} answers again`);
        this.blobs.forgetKnown();
        this.reconnects.emit('reconnect');
      }
    }
  }
}
