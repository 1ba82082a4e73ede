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

// Digests of objects in JavaScript, the default, take most of the time of a large one.
setSha256Backend('native');

/** Message ids are deduplicated this long, so that what is published again after a crash is stored once. */
export const DUPLICATE_WINDOW_MS = 3_600_000;

const STORE_TOO_SMALL = new Set([10023, 10047]);
/** Somebody else has made it meanwhile; nats-server 2.9 may say then that its subjects overlap. */
const STREAM_EXISTS = new Set([10058, 10065]);
const STREAM_NOT_FOUND = 10059;

export interface Stores {
  runs: KV;
  deadLetters: KV;
  checkpoints: ObjectStore;
  files: ObjectStore;
}

/**
 * Creates what is missing of streams and buckets. Of those that exist it changes what they do when full, and no size: an operator may have
 * tuned it. Where the store cannot reserve what all of them may hold, they share it, and none has a bound of its own: a part of them
 * would leave nothing to the others.
 */
export async function ensureTopology(
  js: JetStreamClient,
  jsm: JetStreamManager,
  logger: Logger,
): Promise<Stores> {
  try {
    return await ensureAll(js, jsm, (maxBytes = -1) => maxBytes);
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || !STORE_TOO_SMALL.has(error.code)) throw error;
    logger.warn(
      'the store of NATS is too small to reserve what each stream may hold: they share it, without bounds of their own',
    );
    await giveBackReservations(jsm);
    return ensureAll(js, jsm, () => -1);
  }
}

/** @param boundOf what is reserved for a stream that is created, in bytes; -1: nothing */
async function ensureAll(
  js: JetStreamClient,
  jsm: JetStreamManager,
  boundOf: (maxBytes?: number) => number,
): Promise<Stores> {
  for (const kept of STREAM_STORAGE) await ensureStream(jsm, kept, boundOf(kept.maxBytes));
  const kvm = new Kvm(js);
  const objm = new Objm(js);
  const storage = StorageType.File;
  const { runs, deadLetters, checkpoints, files } = BUCKET_STORAGE;
  const ttl = deadLetters.maxAgeMs;
  const stores = {
    runs: await kvm.create(runs.name, { history: 1, storage }),
    deadLetters: await kvm.create(deadLetters.name, {
      ...{ history: 1, storage, ttl, max_bytes: boundOf(deadLetters.maxBytes) },
    }),
    checkpoints: await objm.create(checkpoints.name, { storage }),
    files: await objm.create(files.name, { storage }),
  };
  // Buckets refuse new values when full; of this one the handlers of messages that cannot be read would wait for ever.
  await bringUpToDate(jsm, `KV_${deadLetters.name}`, { discard: DiscardPolicy.Old });
  return stores;
}

/** Takes the bounds away that streams have from here; what an operator has set stays. */
async function giveBackReservations(jsm: JetStreamManager): Promise<void> {
  const reserved = new Map(STREAM_STORAGE.map(({ name, maxBytes }) => [name, maxBytes]));
  reserved.set(`KV_${BUCKET_STORAGE.deadLetters.name}`, BUCKET_STORAGE.deadLetters.maxBytes);
  for await (const { config } of jsm.streams.list()) {
    if (config.max_bytes > 0 && reserved.get(config.name) === config.max_bytes)
      await jsm.streams.update(config.name, { max_bytes: -1 });
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

async function ensureStream(jsm: JetStreamManager, kept: KeptStream, maxBytes: number): Promise<void> {
  const { name, subjects, kind } = kept;
  const behaviour = behaviourOf(kept);
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
  try {
    const { config } = await jsm.streams.info(name);
    const differs = Object.entries(wanted).some(
      ([key, value]) => (config[key as keyof StreamConfig] ?? false) !== value,
    );
    if (differs) await jsm.streams.update(name, wanted);
    return true;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === STREAM_NOT_FOUND) return false;
    throw error;
  }
}
