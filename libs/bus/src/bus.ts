import { randomUUID } from 'node:crypto';
import type { Logger } from '@nestjs/common';
import type { PubAck } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Reply, RunEvent } from '@ui-rl/contracts';
import { BlobStore } from './blobs';
import { Broker } from './broker';
import type { MessageClass, MessageSchema } from './codec';
import { startConsumption, type ConsumeOptions, type Consumption } from './consume';
import { DeadLetters } from './dead-letter';
import { AdapterArchive, CheckpointArchive, SharedFiles } from './files';
import { startHousekeeping, type Housekeeping, type HousekeepingOptions } from './housekeeping';
import { KvBucket } from './kv';
import type { BusOptions } from './options';
import { Publisher, type EventBody } from './publisher';
import { gather, request } from './request';
import { startResponder, type Responder, type RespondOptions } from './respond';
import { RunDirectory } from './runs';
import { RunStorage } from './run-storage';
import { openStorage, type Storage } from './storage';
import { backlogOf, storedCount, storedMessages, type Backlog } from './stored';

/** A part that runs until the bus closes. */
type Part = Consumption | Responder | Housekeeping;

/**
 * One connection to NATS, with the operations that services perform over it. Survives a broker that goes away and
 * comes back.
 */
export class BusService {
  /** Id of this process, unique among processes of the same service. */
  readonly instance = randomUUID().slice(0, 8);
  readonly logger: Logger;
  readonly service: string;
  readonly connection: NatsConnection;
  /** Aborts when the bus starts to close. */
  readonly closing: AbortSignal;
  /** JSON by key: run records, phases, policy and loader states. */
  readonly runsBucket: KvBucket;
  readonly runs: RunDirectory;
  /** Measures and frees the storage that runs use at the broker. */
  readonly runStorage: RunStorage;
  readonly deadLetterBucket: KvBucket;
  readonly blobs: BlobStore;
  readonly checkpoints: CheckpointArchive;
  readonly adapters: AdapterArchive;
  readonly files: SharedFiles;

  private readonly publisher: Publisher;
  private readonly deadLetters: DeadLetters;
  private readonly running = new Set<Part>();

  private constructor(
    private readonly broker: Broker,
    runsBucket: KvBucket,
    storage: Storage,
  ) {
    this.logger = broker.logger;
    this.service = broker.service;
    this.connection = broker.connection;
    this.closing = broker.closing;
    this.runsBucket = runsBucket;
    this.deadLetterBucket = new KvBucket(broker, 'deadLetters');
    this.blobs = new BlobStore(broker, storage.blobs, storage.agree);
    this.checkpoints = new CheckpointArchive(storage.checkpoints);
    this.adapters = new AdapterArchive(storage.checkpoints);
    this.files = new SharedFiles(storage.files);
    this.publisher = new Publisher(broker, this.blobs);
    this.runs = new RunDirectory(broker, this.publisher, this.runsBucket);
    this.runStorage = new RunStorage(broker, this.runs, this.runsBucket, this.checkpoints, storage.outside);
    this.deadLetters = new DeadLetters(broker, this.publisher, this.deadLetterBucket);
  }

  /**
   * Connects, waiting with a log message while NATS is unavailable, and creates missing streams and buckets. Throws
   * `BusError` `authorization` or `configuration`, or `unavailable` if a separate blob store does not answer.
   */
  static async connect(options: BusOptions): Promise<BusService> {
    const broker = await Broker.connect(options);
    try {
      const runs = new KvBucket(broker, 'runs');
      return new BusService(broker, runs, await openStorage(broker, runs, options.blobs));
    } catch (error) {
      await broker.close();
      throw error;
    }
  }

  /**
   * Stores a message in the stream of its subject and resolves when the broker has acknowledged it. The id makes this
   * idempotent: messages with the same id within an hour are stored once. Waits while the broker is unavailable or
   * full. A message larger than the broker accepts is stored as a blob of its run, up to 64 MiB. Throws `BusError`
   * `too_large`.
   */
  async publishJson(subject: string, value: unknown, id: string): Promise<PubAck> {
    return this.publisher.publishJson(subject, value, id);
  }

  /** Publishes an event of a run; `id` names the occurrence, so that publishing it twice stores it once. */
  async event(event: EventBody<RunEvent>, id: string): Promise<void> {
    return this.publisher.event(event, id);
  }

  /**
   * Sends one request and waits for the reply; both are MessagePack. Never throws for failures of the responder or
   * the network: they are replies with a code, `no_responders`, `timeout`, `disconnected`, `too_large`, `bad_reply`,
   * `closed`, or a code of the handler.
   */
  async request<T>(
    subject: string,
    value: unknown,
    timeoutMs: number,
    schema?: MessageClass<T>,
  ): Promise<Reply<T>> {
    return request(this.broker, subject, value, timeoutMs, schema);
  }

  /**
   * Sends one request to all responders of a subject and returns the values of those that reply in time. Failures are
   * logged and left out.
   */
  async gather<T>(subject: string, value: unknown, withinMs: number, schema: MessageClass<T>): Promise<T[]> {
    return gather(this.broker, subject, value, withinMs, schema);
  }

  /** Reads a stream with a durable consumer until stopped. Decorated Nest handlers use this method, too. */
  async consume<T>(options: ConsumeOptions<T>): Promise<Consumption> {
    return this.track(await startConsumption(this.broker, this.publisher, this.deadLetters, options));
  }

  /**
   * Deletes a consumer, so that the next reader of that name starts with the oldest message. Does nothing if the
   * consumer does not exist.
   */
  async deleteConsumer(stream: string, durable: string): Promise<void> {
    await this.broker.deleteConsumer(stream, durable);
  }

  /**
   * The messages of one subject in a stream, oldest first; in a work queue, those that are pending or in progress.
   */
  stored<T>(stream: string, subject: string, schema?: MessageSchema<T>): AsyncGenerator<T> {
    return storedMessages(this.broker, this.publisher, stream, subject, schema);
  }

  /** The number of messages of a subject in a stream. */
  storedCount(stream: string, subject: string): Promise<number> {
    return storedCount(this.broker, stream, subject);
  }

  /** The pending work of a durable consumer; null if it does not exist. */
  async backlog(stream: string, durable: string): Promise<Backlog | null> {
    return backlogOf(this.broker, stream, durable);
  }

  /** Answers requests on a subject until stopped. */
  respond<T>(options: RespondOptions<T>): Responder {
    return this.track(startResponder(this.broker, this.deadLetters, options));
  }

  /**
   * Calls back after every reconnection; returns an unsubscribe function. The broker may have returned with an older
   * copy of its store, so recent announcements may have to be repeated.
   */
  onReconnect(callback: () => void): () => void {
    return this.broker.onReconnect(callback);
  }

  /**
   * Removes leftovers of runs from streams until the bus closes. One process per broker is enough; more are harmless.
   */
  keepHouse(options?: Partial<HousekeepingOptions>): void {
    this.track(
      startHousekeeping({ broker: this.broker, runs: this.runs, deadLetters: this.deadLetters }, options),
    );
  }

  /** Stops receiving, waits for running handlers, flushes the buffer and closes the connection. */
  async close(): Promise<void> {
    if (this.closing.aborted) return;
    await Promise.all([...this.running].map((part) => part.stop()));
    await this.broker.close();
  }

  private track<P extends Part>(part: P): P {
    this.running.add(part);
    void part.ended.then(() => this.running.delete(part));
    return part;
  }
}
