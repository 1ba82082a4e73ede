import { Logger } from '@nestjs/common';
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
const STREAM_EXISTS = 10058;
const STREAM_NOT_FOUND = 10059;

export interface Stores {
  runs: KV;
  deadLetters: KV;
  checkpoints: ObjectStore;
  files: ObjectStore;
}

/** Creates what is missing of streams and buckets. Of those that exist it changes what they do when full, and no size: an operator may have tuned it. */
export async function ensureTopology(
  js: JetStreamClient,
  jsm: JetStreamManager,
  logger: Logger,
): Promise<Stores> {
  for (const kept of STREAM_STORAGE) await ensureStream(jsm, kept, logger);
  const kvm = new Kvm(js);
  const objm = new Objm(js);
  const storage = StorageType.File;
  const { runs, checkpoints, files } = BUCKET_STORAGE;
  return {
    runs: await kvm.create(runs.name, { history: 1, storage }),
    deadLetters: await ensureDeadLetters(kvm, jsm, logger),
    checkpoints: await objm.create(checkpoints.name, { storage }),
    files: await objm.create(files.name, { storage }),
  };
}

/** Buckets refuse new values when full; of this one the handlers of messages that cannot be read would wait for ever. */
async function ensureDeadLetters(kvm: Kvm, jsm: JetStreamManager, logger: Logger): Promise<KV> {
  const { name, maxAgeMs, maxBytes = -1 } = BUCKET_STORAGE.deadLetters;
  const bucket = await kvm.create(name, { history: 1, storage: StorageType.File, ttl: maxAgeMs });
  const { size, max_bytes } = await bucket.status();
  const stream = `KV_${name}`;
  await bringUpToDate(jsm, stream, { discard: DiscardPolicy.Old });
  if (max_bytes > 0 || size > maxBytes) return bucket;
  await withRoomFor(maxBytes, stream, logger, (bytes) => bringUpToDate(jsm, stream, { max_bytes: bytes }));
  return bucket;
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

async function ensureStream(jsm: JetStreamManager, kept: KeptStream, logger: Logger): Promise<void> {
  const { name, subjects, kind, maxBytes = -1 } = kept;
  const behaviour = behaviourOf(kept);
  if (await bringUpToDate(jsm, name, behaviour)) return;
  const config = {
    ...behaviour,
    name,
    subjects,
    retention: kind === 'queue' ? RetentionPolicy.Workqueue : RetentionPolicy.Limits,
    storage: StorageType.File,
    // Single messages are read as they are, not as base64.
    allow_direct: kind !== 'queue',
    duplicate_window: nanos(Math.min(DUPLICATE_WINDOW_MS, kept.maxAgeMs ?? Infinity)),
  };
  await withRoomFor(maxBytes, name, logger, async (bytes) => {
    try {
      await jsm.streams.add({ ...config, max_bytes: bytes });
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || error.code !== STREAM_EXISTS) throw error;
    }
  });
}

/** Has a bound set; where the store cannot reserve as much, there is none. */
async function withRoomFor(
  maxBytes: number,
  name: string,
  logger: Logger,
  set: (maxBytes: number) => Promise<unknown>,
): Promise<void> {
  try {
    await set(maxBytes);
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || !STORE_TOO_SMALL.has(error.code)) throw error;
    logger.warn(
      `the store of NATS is too small to reserve ${maxBytes} bytes for ${name}: created without a bound`,
    );
    await set(-1);
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
