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
  /** Revision of this key; an update names the one it replaces. */
  revision: number;
}

/** A change as a watcher sees it; `value` is null where the key was deleted. */
export interface KvChange<T> {
  key: string;
  value: T | null;
  revision: number;
}

const WRONG_REVISION = new Set([10071, 10164]);
const NO_MESSAGE = new Set([10037, 10043]);

/** JSON values by key. Every operation waits for the broker to come back. Keys: letters, digits, `-_=./`. */
export class KvBucket {
  constructor(
    private readonly broker: Broker,
    private readonly bucket: 'runs' | 'deadLetters',
  ) {}

  /** Throws `BusError` `damaged` where the value does not pass the validation of `schema`. */
  async get<T>(key: string, schema?: MessageClass<T>): Promise<KvEntry<T> | null> {
    return this.read(
      key,
      await lookUp(this.broker, () => this.run(`read ${key}`, (bucket) => bucket.get(key))),
      schema,
    );
  }

  /** Writes whatever stands there; returns the new revision. Throws `BusError` `too_large`. */
  async put(key: string, value: unknown): Promise<number> {
    const text = this.textOf(key, value);
    return this.run(`write ${key}`, (bucket) => bucket.put(key, text));
  }

  /** Writes where the key does not exist yet; null where it does. */
  async create(key: string, value: unknown): Promise<number | null> {
    const entry = await this.run(`create ${key}`, (bucket) => bucket.get(key));
    if (entry !== null && entry.operation === 'PUT') return null;
    return this.update(key, value, entry?.revision ?? 0);
  }

  /** Writes where `revision` still is the current one (0: no such key yet); null where somebody else was first. */
  async update(key: string, value: unknown, revision: number): Promise<number | null> {
    const text = this.textOf(key, value);
    let uncertain = false;
    return this.run(`update ${key}`, async (bucket) => {
      try {
        return await bucket.put(key, text, { previousSeq: revision });
      } catch (error) {
        if (error instanceof JetStreamApiError && WRONG_REVISION.has(error.code)) {
          // The answer to an earlier attempt was lost: that may be what stands there.
          return uncertain ? this.revisionAfter(bucket, key, text, revision) : null;
        }
        uncertain = true;
        throw error;
      }
    });
  }

  /** Reads, changes and writes until nobody interferes. `change` returns null to leave the value as it is. */
  async change<T>(
    key: string,
    change: (current: T | null) => T | null,
    schema?: MessageClass<T>,
  ): Promise<KvEntry<T> | null> {
    for (;;) {
      // As the next server has it: writing tells whether that is the latest.
      const entry = await this.run(`read ${key}`, (bucket) => bucket.get(key));
      const current = this.read(key, entry, schema);
      const next = change(current?.value ?? null);
      if (next === null) return current;
      const revision = await this.update(key, next, current?.revision ?? entry?.revision ?? 0);
      if (revision !== null) return { key, value: next, revision };
    }
  }

  /** Leaves a marker, which tells a key that was deleted from one that the broker has lost. */
  async delete(key: string): Promise<void> {
    await this.run(`delete ${key}`, (bucket) => bucket.delete(key));
  }

  /** When the key was deleted; null where it exists, or nobody knows of it. */
  async deletedAt(key: string): Promise<Date | null> {
    const entry = await this.run(`read ${key}`, (bucket) => bucket.get(key));
    return entry === null || entry.operation === 'PUT' ? null : entry.created;
  }

  /** When the key was written last, by the broker's clock; null where it does not exist. */
  async writtenAt(key: string): Promise<Date | null> {
    const entry = await this.run(`read ${key}`, (bucket) => bucket.get(key));
    return entry?.operation === 'PUT' ? entry.created : null;
  }

  /** Takes the markers of older deletions away. */
  async forgetDeleted(olderThanMs: number): Promise<void> {
    const latest = Date.now() - olderThanMs;
    for (const entry of await this.list('>')) {
      if (entry.operation === 'PUT' || entry.created.getTime() > latest) continue;
      // By its number: the key may have been written again meanwhile.
      await this.run(`forget ${entry.key}`, () =>
        this.broker.jsm.streams.deleteMessage(this.stream, entry.revision).catch(unlessMissing),
      );
    }
  }

  /** Keys that exist, filtered by a NATS pattern such as `*.state`; those that were written last come last. */
  async keys(filter = '>'): Promise<string[]> {
    const entries = (await this.list(filter)).filter(({ operation }) => operation === 'PUT');
    return entries.toSorted((a, b) => a.revision - b.revision).map(({ key }) => key);
  }

  /**
   * Current values, then every change, in order per key and each revision once. Survives reconnections and a restarted
   * broker; ends when the signal aborts or the bus closes. A change that is overtaken by the next while the broker is
   * away may be skipped; a value that does not pass the validation of `schema` is logged and left out.
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
        // With the time, since a broker that lost its store counts revisions anew.
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
   * The last entry of each key, markers of deletions included. Asked for key by key: the client's own list ends where the broker
   * says that nothing is pending, which nats-server 2.9 never says while others write.
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
      // While it was opened: nobody would end it any more.
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

  /** A change as a watcher sees it; null, and logged, where its value cannot be read. */
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

  /** Revision that followed another one, where it holds the text; null where somebody else has written. */
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

/** Somebody else took it away. */
function unlessMissing(error: unknown): void {
  if (!(error instanceof JetStreamApiError && NO_MESSAGE.has(error.code))) throw error;
}

function valueOf<T>(entry: NatsEntry | KvWatchEntry, schema: MessageClass<T> | undefined): Read<T> {
  return schema === undefined ? (readAnyJson(entry.value) as Read<T>) : readJson(entry.value, schema);
}

/** The client leaves the consumer of a watch that has ended to the broker, which would keep it for five minutes. */
async function removeConsumer(watch: QueuedIterator<KvWatchEntry>): Promise<void> {
  const { _data: consumer } = watch as { _data?: unknown } as { _data: PushConsumer };
  // Where the connection is lost, or the consumer with it, the broker does it by itself.
  await consumer.delete().catch(() => undefined);
}
