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

// Digests of objects in JavaScript, the default, take most of the time of a large one.
setSha256Backend('native');

/** Message ids are deduplicated this long, so that what is published again after a crash is stored once. */
export const DUPLICATE_WINDOW_MS = 3_600_000;

const STORE_TOO_SMALL = new Set([10023, 10047]);
/** A cluster has not as many servers as were asked for, or not as many with room: its message says which. */
const NO_SUITABLE_SERVERS = 10005;
const NO_CLUSTER = 10074;
/** Somebody else has made it meanwhile; nats-server 2.9 may say then that its subjects overlap. */
const STREAM_EXISTS = new Set([10058, 10065]);
const STREAM_NOT_FOUND = 10059;

export interface Stores {
  runs: KV;
  deadLetters: KV;
  checkpoints: ObjectStore;
  files: ObjectStore;
  /** Several servers keep what is stored. Each of them answers when a message is looked up, and one may lack the latest yet. */
  replicated: boolean;
}

/** Whose streams and buckets are looked after. */
interface Place {
  js: JetStreamClient;
  jsm: JetStreamManager;
  logger: Logger;
  /** Servers that keep each of them; undefined: one for those that are created, and the others stay as they are. */
  replicas: number | undefined;
}

/**
 * Creates what is missing of streams and buckets. Of those that exist it changes what they do when full, and no size: an operator may have
 * tuned it. Where the store cannot reserve what all of them may hold, they share it, and none has a bound of its own: a part of them
 * would leave nothing to the others. Throws `BusError` `configuration` where several servers are asked for and there is no cluster.
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
      'the store of NATS is too small to reserve what each stream may hold: they share it, without bounds of their own',
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

/** @param boundOf what is reserved for a stream that is created, in bytes; -1: nothing */
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
  // Buckets refuse new values when full; of this one the handlers of messages that cannot be read would wait for ever.
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

/** Takes the bounds away that streams have from here; what an operator has set stays. */
async function giveBackReservations(jsm: JetStreamManager): Promise<void> {
  const reserved = new Map(STREAM_STORAGE.map(({ name, maxBytes }) => [name, maxBytes]));
  reserved.set(`KV_${BUCKET_STORAGE.deadLetters.name}`, BUCKET_STORAGE.deadLetters.maxBytes);
  for (const [name, maxBytes] of reserved) {
    if (maxBytes === undefined) continue;
    const config = await configOf(jsm, name);
    if (config?.max_bytes === maxBytes) await jsm.streams.update(name, { max_bytes: -1 });
  }
}

/** What a stream does when it is full, and what it lets go. */
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
      // Single messages are read as they are, not as base64.
      allow_direct: kind !== 'queue',
      duplicate_window: nanos(Math.min(DUPLICATE_WINDOW_MS, kept.maxAgeMs ?? Infinity)),
    });
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || !STREAM_EXISTS.has(error.code)) throw error;
    if (!(await bringUpToDate(jsm, name, behaviour))) throw error;
  }
}

/** Gives an existing stream what it should have; false where there is no such stream. */
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

/** Null where there is no such stream. */
async function configOf(jsm: JetStreamManager, name: string): Promise<StreamConfig | null> {
  try {
    return (await jsm.streams.info(name)).config;
  } catch (error) {
    if (isApiError(error) && error.code === STREAM_NOT_FOUND) return null;
    throw error;
  }
}
