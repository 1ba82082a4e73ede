import { isDeepStrictEqual } from 'node:util';
import { JetStreamApiError, type PushConsumer } from '@nats-io/jetstream';
import { KvWatchInclude, type KV, type KvEntry as NatsEntry, type KvWatchEntry } from '@nats-io/kv';
import type { QueuedIterator } from '@nats-io/transport-node';
import { BUCKETS } from '@ui-rl/contracts';
import type { Broker } from './broker';
import { lookUp } from './copies';
import { readAnyJson, readJson, type MessageClass, type Read } from './codec';
import { BusError, tooLarge } from './errors';
import { RETRIES, sleep } from '@ui-rl/retry';
import { inBatches } from './in-batches';
import { isTransient, withRetry } from './retry';
import { countBySubject } from './run-messages';

export interface KvEntry<T> {
  key: string;
  value: T;
  /** Revision of this key; an update names the revision that it replaces. */
  revision: number;
}

/** A change as a watcher sees it; `value` is null if the key was deleted. */
export interface KvChange<T> {
  key: string;
  value: T | null;
  revision: number;
}

const WRONG_REVISION = new Set([10071, 10164]);
const NO_MESSAGE = new Set([10037, 10043]);

/** JSON values by key. Every operation waits while the broker is unavailable. Keys: letters, digits, `-_=./`. */
export class KvBucket {
  constructor(
    private readonly broker: Broker,
    private readonly bucket: 'runs' | 'deadLetters',
  ) {}

  /** Throws `BusError` `damaged` if the value fails the validation of `schema`. */
  async get<T>(key: string, schema?: MessageClass<T>): Promise<KvEntry<T> | null> {
    return this.read(
      key,
      await lookUp(this.broker, () => this.run(`read ${key}`, (bucket) => bucket.get(key))),
      schema,
    );
  }

  /** Writes unconditionally; returns the new revision. Throws `BusError` `too_large`. */
  async put(key: string, value: unknown): Promise<number> {
    const text = this.textOf(key, value);
    return this.run(`write ${key}`, (bucket) => bucket.put(key, text));
  }

  /** Writes a new key; returns null if the key exists. */
  async create(key: string, value: unknown): Promise<number | null> {
    const entry = await this.run(`create ${key}`, (bucket) => bucket.get(key));
    if (entry !== null && entry.operation === 'PUT') return null;
    return this.update(key, value, entry?.revision ?? 0);
  }

  /** Writes if `revision` is the current one (0: no such key yet); returns null if another process wrote first. */
  async update(key: string, value: unknown, revision: number): Promise<number | null> {
    const text = this.textOf(key, value);
    let uncertain = false;
    return this.run(`update ${key}`, async (bucket) => {
      try {
        return await bucket.put(key, text, { previousSeq: revision });
      } catch (error) {
        if (error instanceof JetStreamApiError && WRONG_REVISION.has(error.code)) {
          // The answer to an earlier attempt was lost: the stored value may be ours.
          return uncertain ? this.revisionAfter(bucket, key, text, revision) : null;
        }
        uncertain = true;
        throw error;
      }
    });
  }

  /**
   * Reads, changes and writes, and repeats this after a conflict. Return null from `change` to leave the value
   * unchanged.
   */
  async change<T>(
    key: string,
    change: (current: T | null) => T | null,
    schema?: MessageClass<T>,
  ): Promise<KvEntry<T> | null> {
    for (;;) {
      // A lagging replica may answer: the write detects that.
      const entry = await this.run(`read ${key}`, (bucket) => bucket.get(key));
      const current = this.read(key, entry, schema);
      const next = change(current?.value ?? null);
      if (next === null) return current;
      const revision = await this.update(key, next, current?.revision ?? entry?.revision ?? 0);
      if (revision !== null) return { key, value: next, revision };
    }
  }

  /** Leaves a marker, which distinguishes a deleted key from one that the broker has lost. */
  async delete(key: string): Promise<void> {
    await this.run(`delete ${key}`, (bucket) => bucket.delete(key));
  }

  /** When the key was deleted; null if it exists or was never seen. */
  async deletedAt(key: string): Promise<Date | null> {
    const entry = await this.run(`read ${key}`, (bucket) => bucket.get(key));
    return entry === null || entry.operation === 'PUT' ? null : entry.created;
  }

  /** When the key was last written, by the broker's clock; null if it does not exist. */
  async writtenAt(key: string): Promise<Date | null> {
    const entry = await this.run(`read ${key}`, (bucket) => bucket.get(key));
    return entry?.operation === 'PUT' ? entry.created : null;
  }

  /** Removes the markers of older deletions. */
  async forgetDeleted(olderThanMs: number): Promise<void> {
    const latest = Date.now() - olderThanMs;
    for (const entry of await this.list('>')) {
      if (entry.operation === 'PUT' || entry.created.getTime() > latest) continue;
      // By sequence number: the key may have been written again meanwhile.
      await this.run(`forget ${entry.key}`, () =>
        this.broker.jsm.streams.deleteMessage(this.stream, entry.revision).catch(unlessMissing),
      );
    }
  }

  /** Existing keys that match a NATS pattern such as `*.state`; the most recently written come last. */
  async keys(filter = '>'): Promise<string[]> {
    const entries = (await this.list(filter)).filter(({ operation }) => operation === 'PUT');
    return entries.toSorted((a, b) => a.revision - b.revision).map(({ key }) => key);
  }

  /**
   * Current values, then every change, in order per key and each revision once. Survives reconnections and a
   * restarted broker; ends when the signal aborts or the bus closes. A change that is superseded while the broker is
   * unavailable may be skipped. A value that fails the validation of `schema` is logged and omitted.
   */
  async *watch<T>(
    filter: string,
    signal?: AbortSignal,
    schema?: MessageClass<T>,
  ): AsyncGenerator<KvChange<T>> {
    const seen = new Map<string, string>();
    const stop = AbortSignal.any([this.broker.closing, ...(signal === undefined ? [] : [signal])]);
    while (!stop.aborted) {
      for await (const entry of this.entries(filter, stop)) {
        // Includes the time, because a broker that lost its store restarts the revision counter.
        const identity = `${entry.revision}@${entry.created.getTime()}`;
        if (seen.get(entry.key) === identity) continue;
        seen.set(entry.key, identity);
        const change = this.changeOf(entry, schema);
        if (change !== null) yield change;
      }
      await sleep(RETRIES.broker.firstMs, stop);
    }
  }

  /**
   * The last entry of each key, including deletion markers. Requested key by key: the client's own list ends when the
   * broker reports that nothing is pending, which nats-server 2.9 never does during writes.
   */
  private async list(filter: string): Promise<NatsEntry[]> {
    const prefix = `$KV.${BUCKETS[this.bucket]}.`;
    const subjects = await this.run(`list ${filter}`, () =>
      countBySubject(this.broker, this.stream, prefix + filter),
    );
    const keys = [...subjects.keys()].map((subject) => subject.slice(prefix.length));
    const read = (key: string) =>
      lookUp(this.broker, () => this.run(`read ${key}`, (bucket) => bucket.get(key)));
    return (await inBatches(keys, read)).filter((entry) => entry !== null);
  }

  private get stream(): string {
    return `KV_${BUCKETS[this.bucket]}`;
  }

  /** Current values, then changes, until the connection is lost or the signal aborts. */
  private async *entries(filter: string, stop: AbortSignal): AsyncGenerator<KvWatchEntry> {
    const iterator = await this.openWatch(filter, stop);
    if (iterator === null) return;
    const end = () => iterator.stop();
    const unsubscribe = this.broker.onReconnect(end);
    stop.addEventListener('abort', end, { once: true });
    try {
      // Aborted while opening: the watch would never be stopped.
      if (stop.aborted) return;
      for await (const entry of iterator) {
        if (stop.aborted) return;
        yield entry;
      }
    } catch (error) {
      if (!isTransient(error)) throw error;
    } finally {
      unsubscribe();
      stop.removeEventListener('abort', end);
      iterator.stop();
      void removeConsumer(iterator);
    }
  }

  private async openWatch(filter: string, stop: AbortSignal): Promise<QueuedIterator<KvWatchEntry> | null> {
    const open = async () => {
      const bucket = await this.open();
      return bucket.watch({ key: filter, include: KvWatchInclude.LastValue });
    };
    try {
      return await withRetry(`watch ${filter} in bucket ${BUCKETS[this.bucket]}`, this.broker, open, stop);
    } catch (error) {
      if (stop.aborted) return null;
      throw error;
    }
  }

  /** A change as a watcher sees it; null, with a log message, if its value is invalid. */
  private changeOf<T>(entry: KvWatchEntry, schema: MessageClass<T> | undefined): KvChange<T> | null {
    const { key, revision } = entry;
    if (entry.operation !== 'PUT') return { key, value: null, revision };
    const read = valueOf(entry, schema);
    if (read.ok) return { key, value: read.value, revision };
    this.broker.logger.error(this.damage(key, read.reason));
    return null;
  }

  private textOf(key: string, value: unknown): string {
    const text = JSON.stringify(value);
    const [found, limit] = [Buffer.byteLength(text), this.broker.maxMessageBytes];
    if (found <= limit) return text;
    const where = `key ${key} of bucket ${BUCKETS[this.bucket]}`;
    throw new BusError('too_large', `${tooLarge(where, found, limit)}: raise max_payload of nats-server`);
  }

  private damage(key: string, reason: string): string {
    return `what bucket ${BUCKETS[this.bucket]} holds for ${key} cannot be read: ${reason}`;
  }

  /** Revision of our own write after `before`, if the key holds our text; null if another process wrote. */
  private async revisionAfter(bucket: KV, key: string, text: string, before: number): Promise<number | null> {
    const stored = await lookUp(this.broker, async () => {
      const entry = await bucket.get(key);
      return entry?.revision === before ? null : entry;
    });
    if (stored?.operation !== 'PUT') return null;
    const read = readAnyJson(stored.value);
    return read.ok && isDeepStrictEqual(read.value, JSON.parse(text)) ? stored.revision : null;
  }

  private read<T>(
    key: string,
    entry: NatsEntry | null,
    schema: MessageClass<T> | undefined,
  ): KvEntry<T> | null {
    if (entry === null || entry.operation !== 'PUT') return null;
    const read = valueOf(entry, schema);
    if (read.ok) return { key, value: read.value, revision: entry.revision };
    throw new BusError('damaged', this.damage(key, read.reason));
  }

  private async open(): Promise<KV> {
    return (await this.broker.stores())[this.bucket];
  }

  private run<T>(what: string, operation: (bucket: KV) => Promise<T>): Promise<T> {
    return withRetry(`${what} in bucket ${BUCKETS[this.bucket]}`, this.broker, async () =>
      operation(await this.open()),
    );
  }
}

/** Another process has removed it. */
function unlessMissing(error: unknown): void {
  if (!(error instanceof JetStreamApiError && NO_MESSAGE.has(error.code))) throw error;
}

function valueOf<T>(entry: NatsEntry | KvWatchEntry, schema: MessageClass<T> | undefined): Read<T> {
  return schema === undefined ? (readAnyJson(entry.value) as Read<T>) : readJson(entry.value, schema);
}

/** The client leaves the consumer of an ended watch to the broker, which would keep it for five minutes. */
async function removeConsumer(watch: QueuedIterator<KvWatchEntry>): Promise<void> {
  const { _data: consumer } = watch as { _data?: unknown } as { _data: PushConsumer };
  // If the connection or the consumer is lost, the broker cleans up.
  await consumer.delete().catch(() => undefined);
}
