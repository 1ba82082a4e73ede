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
import { request } from './request';
import { startResponder, type Responder, type RespondOptions } from './respond';
import { RunDirectory } from './runs';
import { RunStorage } from './run-storage';
import { openStorage, type Storage } from './storage';
import { backlogOf, storedCount, storedMessages, type Backlog } from './stored';

/** What goes on until the bus closes. */
type Part = Consumption | Responder | Housekeeping;

/** One connection to NATS and what the services do over it. Survives a broker that goes away and comes back. */
export class BusService {
  /** Identity of this process among those of the same service. */
  readonly instance = randomUUID().slice(0, 8);
  readonly logger: Logger;
  readonly service: string;
  readonly connection: NatsConnection;
  /** Aborts when the bus starts to close. */
  readonly closing: AbortSignal;
  /** JSON by key: run records, phases, policy and loader states. */
  readonly runsBucket: KvBucket;
  readonly runs: RunDirectory;
  /** What runs occupy at the broker, and how it is freed. */
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
   * Connects, waiting (and saying so) while NATS is away, and creates the streams and buckets that are missing.
   * Throws `BusError` `authorization` or `configuration`, or `unavailable` where blobs lie elsewhere and that does not answer.
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
   * Stores a message in the stream of its subject and returns when the broker has it. The id makes it idempotent: published again
   * within an hour it is stored once. Waits while the broker is away or full. One that is larger than the broker takes goes by way of
   * a blob of its run, up to 64 MiB. Throws `BusError` `too_large`.
   */
  async publishJson(subject: string, value: unknown, id: string): Promise<PubAck> {
    return this.publisher.publishJson(subject, value, id);
  }

  /** Publishes an event of a run; `id` names what happened, so that publishing it twice stores it once. */
  async event(event: EventBody<RunEvent>, id: string): Promise<void> {
    return this.publisher.event(event, id);
  }

  /**
   * Asks once and waits for the answer; both ways MessagePack. Never throws for what the other side or the network does:
   * failures are replies with a code, `no_responders`, `timeout`, `disconnected`, `too_large`, `bad_reply`, `closed`, or one of
   * the handler's.
   */
  async request<T>(
    subject: string,
    value: unknown,
    timeoutMs: number,
    schema?: MessageClass<T>,
  ): Promise<Reply<T>> {
    return request(this.broker, subject, value, timeoutMs, schema);
  }

  /** Reads a stream with a durable consumer until stopped. Decorated Nest handlers come here too. */
  async consume<T>(options: ConsumeOptions<T>): Promise<Consumption> {
    return this.track(await startConsumption(this.broker, this.publisher, this.deadLetters, options));
  }

  /** Lets the next reader of that name begin with the oldest message again. Nothing happens where there is no such consumer. */
  async deleteConsumer(stream: string, durable: string): Promise<void> {
    await this.broker.deleteConsumer(stream, durable);
  }

  /** The messages of one subject that a stream holds, oldest first; those of a work queue wait or are worked at. */
  stored<T>(stream: string, subject: string, schema?: MessageSchema<T>): AsyncGenerator<T> {
    return storedMessages(this.broker, this.publisher, stream, subject, schema);
  }

  /** How many messages of a subject a stream holds. */
  storedCount(stream: string, subject: string): Promise<number> {
    return storedCount(this.broker, stream, subject);
  }

  /** What a durable consumer has to do yet; null where it does not exist. */
  async backlog(stream: string, durable: string): Promise<Backlog | null> {
    return backlogOf(this.broker, stream, durable);
  }

  /** Answers requests on a subject until stopped. */
  respond<T>(options: RespondOptions<T>): Responder {
    return this.track(startResponder(this.broker, this.deadLetters, options));
  }

  /**
   * Calls back after every reconnection; returns how to stop that. The broker may have come back on an older copy of its store: what
   * was announced last may have to be announced again.
   */
  onReconnect(callback: () => void): () => void {
    return this.broker.onReconnect(callback);
  }

  /** Keeps streams clean of what runs leave behind, until the bus closes. One process at a broker is enough; more do no harm. */
  keepHouse(options?: Partial<HousekeepingOptions>): void {
    this.track(
      startHousekeeping({ broker: this.broker, runs: this.runs, deadLetters: this.deadLetters }, options),
    );
  }

  /** Stops taking messages, lets handlers finish, sends what is buffered, closes. */
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
