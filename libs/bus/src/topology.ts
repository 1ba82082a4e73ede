import type { Logger } from '@nestjs/common';
import {
  DiscardPolicy,
  JetStreamApiError,
  RetentionPolicy,
  StorageType,
  type JetStreamClient,
  type JetStreamManager,
  type StreamConfig,
} from '@nats-io/jetstream';
import { Kvm, type KV } from '@nats-io/kv';
import { Objm, setSha256Backend, type ObjectStore } from '@nats-io/obj';
import { nanos } from '@nats-io/transport-node';
import { BUCKET_STORAGE, STREAM_STORAGE, type KeptStream } from '@ui-rl/contracts';
import { BusError } from './errors';

// The default, digests in JavaScript, takes most of the time of a large object.
setSha256Backend('native');

/** Deduplication window of message ids, so that a message published again after a crash is stored once. */
export const DUPLICATE_WINDOW_MS = 3_600_000;

const STORE_TOO_SMALL = new Set([10023, 10047]);
/** The cluster has too few servers, or too few with free space: its message says which. */
const NO_SUITABLE_SERVERS = 10005;
const NO_CLUSTER = 10074;
/** Another process has created it meanwhile; nats-server 2.9 may report overlapping subjects instead. */
const STREAM_EXISTS = new Set([10058, 10065]);
const STREAM_NOT_FOUND = 10059;

export interface Stores {
  runs: KV;
  deadLetters: KV;
  checkpoints: ObjectStore;
  files: ObjectStore;
  /** Several servers store the data. Any of them may answer a lookup, including one that lags behind. */
  replicated: boolean;
}

/** The broker whose streams and buckets are managed. */
interface Place {
  js: JetStreamClient;
  jsm: JetStreamManager;
  logger: Logger;
  /** Number of replicas; undefined: one for new streams, existing ones stay unchanged. */
  replicas: number | undefined;
}

/**
 * Creates missing streams and buckets. For existing ones it updates the behaviour when full, but no limits, which an
 * operator may have tuned. If the store cannot reserve the maximum size of all streams, they share it without
 * individual limits: reserving for only some would leave nothing to the others. Throws `BusError` `configuration` if
 * replicas are requested without a cluster.
 */
export async function ensureTopology(place: Place): Promise<Stores> {
  const { jsm, logger, replicas } = place;
  try {
    return await ensureAll(place, (maxBytes = -1) => maxBytes);
  } catch (error) {
    if (isApiError(error) && error.code === NO_CLUSTER) {
      throw new BusError(
        'configuration',
        `${replicas} servers are to keep each stream (NATS_REPLICAS), and NATS is a single server: expected a cluster of as many, or no NATS_REPLICAS`,
        { cause: error },
      );
    }
    if (!isApiError(error) || !isTooSmall(error)) throw error;
    logger.warn(
      'the store of NATS is too small to reserve what each stream may hold: they share it without individual bounds',
    );
    await giveBackReservations(jsm);
    return ensureAll(place, () => -1);
  }
}

function isApiError(error: unknown): error is JetStreamApiError {
  return error instanceof JetStreamApiError;
}

function isTooSmall({ code, message }: JetStreamApiError): boolean {
  return STORE_TOO_SMALL.has(code) || (code === NO_SUITABLE_SERVERS && /storage|resources/.test(message));
}

/** @param boundOf bytes to reserve for a new stream; -1: none */
async function ensureAll(
  { js, jsm, replicas }: Place,
  boundOf: (maxBytes?: number) => number,
): Promise<Stores> {
  for (const kept of STREAM_STORAGE) await ensureStream(jsm, kept, boundOf(kept.maxBytes), replicas);
  const kvm = new Kvm(js);
  const objm = new Objm(js);
  const storage = StorageType.File;
  const { runs, deadLetters, checkpoints, files } = BUCKET_STORAGE;
  const ttl = deadLetters.maxAgeMs;
  const stores = {
    runs: await kvm.create(runs.name, { history: 1, storage, replicas }),
    deadLetters: await kvm.create(deadLetters.name, {
      ...{ history: 1, storage, ttl, replicas, max_bytes: boundOf(deadLetters.maxBytes) },
    }),
    checkpoints: await objm.create(checkpoints.name, { storage, replicas }),
    files: await objm.create(files.name, { storage, replicas }),
  };
  // By default, full buckets reject new values, so handlers of unreadable messages would wait forever to store a dead
  // letter.
  await bringUpToDate(jsm, `KV_${deadLetters.name}`, { discard: DiscardPolicy.Old, ...copies(replicas) });
  const others =
    replicas === undefined ? [] : [`KV_${runs.name}`, `OBJ_${checkpoints.name}`, `OBJ_${files.name}`];
  for (const stream of others) await bringUpToDate(jsm, stream, copies(replicas));
  const { config } = await jsm.streams.info(`KV_${runs.name}`);
  return { ...stores, replicated: config.num_replicas > 1 };
}

function copies(replicas: number | undefined): Partial<StreamConfig> {
  return replicas === undefined ? {} : { num_replicas: replicas };
}

/** Removes limits that this project has set; keeps those of an operator. */
async function giveBackReservations(jsm: JetStreamManager): Promise<void> {
  const reserved = new Map(STREAM_STORAGE.map(({ name, maxBytes }) => [name, maxBytes]));
  reserved.set(`KV_${BUCKET_STORAGE.deadLetters.name}`, BUCKET_STORAGE.deadLetters.maxBytes);
  for (const [name, maxBytes] of reserved) {
    if (maxBytes === undefined) continue;
    const config = await configOf(jsm, name);
    if (config?.max_bytes === maxBytes) await jsm.streams.update(name, { max_bytes: -1 });
  }
}

/** A stream's retention settings. */
function behaviourOf({ kind, full, maxAgeMs, maxPerSubject }: KeptStream): Partial<StreamConfig> {
  const behaviour = {
    discard: full === 'refuse' ? DiscardPolicy.New : DiscardPolicy.Old,
    max_age: nanos(maxAgeMs ?? 0),
    max_msgs_per_subject: maxPerSubject ?? -1,
  };
  return kind === 'queue' ? { ...behaviour, discard_new_per_subject: true } : behaviour;
}

async function ensureStream(
  jsm: JetStreamManager,
  kept: KeptStream,
  maxBytes: number,
  replicas: number | undefined,
): Promise<void> {
  const { name, subjects, kind } = kept;
  const behaviour = { ...behaviourOf(kept), ...copies(replicas) };
  if (await bringUpToDate(jsm, name, behaviour)) return;
  try {
    await jsm.streams.add({
      ...behaviour,
      name,
      subjects,
      retention: kind === 'queue' ? RetentionPolicy.Workqueue : RetentionPolicy.Limits,
      storage: StorageType.File,
      max_bytes: maxBytes,
      // Allows reads of single messages without base64.
      allow_direct: kind !== 'queue',
      duplicate_window: nanos(Math.min(DUPLICATE_WINDOW_MS, kept.maxAgeMs ?? Infinity)),
    });
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || !STREAM_EXISTS.has(error.code)) throw error;
    if (!(await bringUpToDate(jsm, name, behaviour))) throw error;
  }
}

/** Updates an existing stream; returns false if it does not exist. */
async function bringUpToDate(
  jsm: JetStreamManager,
  name: string,
  wanted: Partial<StreamConfig>,
): Promise<boolean> {
  const config = await configOf(jsm, name);
  if (config === null) return false;
  const differs = Object.entries(wanted).some(
    ([key, value]) => (config[key as keyof StreamConfig] ?? false) !== value,
  );
  if (differs) await jsm.streams.update(name, wanted);
  return true;
}

/** Null if the stream does not exist. */
async function configOf(jsm: JetStreamManager, name: string): Promise<StreamConfig | null> {
  try {
    return (await jsm.streams.info(name)).config;
  } catch (error) {
    if (isApiError(error) && error.code === STREAM_NOT_FOUND) return null;
    throw error;
  }
}
