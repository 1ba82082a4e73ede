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
import { ANY, BUCKETS, STREAMS, subjects } from '@ui-rl/contracts';

// Digests of objects in JavaScript, the default, take most of the time of a large one.
setSha256Backend('native');

const MEBIBYTE = 1024 * 1024;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

type StreamSpec = Pick<StreamConfig, 'name' | 'subjects' | 'retention' | 'discard' | 'max_age' | 'max_bytes'>;

/**
 * Work queues refuse new messages when full, since dropping the oldest would lose work in silence; the others drop
 * their oldest, which every service has read long before.
 */
const STREAM_SPECS: StreamSpec[] = [
  {
    name: STREAMS.tasks,
    subjects: [subjects.task(ANY)],
    retention: RetentionPolicy.Workqueue,
    discard: DiscardPolicy.New,
    max_age: nanos(7 * DAY_MS),
    max_bytes: 64 * MEBIBYTE,
  },
  {
    name: STREAMS.rollouts,
    subjects: [subjects.rollout(ANY, ANY)],
    retention: RetentionPolicy.Workqueue,
    discard: DiscardPolicy.New,
    max_age: nanos(7 * DAY_MS),
    max_bytes: 256 * MEBIBYTE,
  },
  {
    name: STREAMS.trajectories,
    subjects: [subjects.trajectory(ANY, ANY)],
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_age: nanos(30 * DAY_MS),
    max_bytes: 2048 * MEBIBYTE,
  },
  {
    name: STREAMS.events,
    subjects: [subjects.event(ANY, ANY)],
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_age: nanos(30 * DAY_MS),
    max_bytes: 256 * MEBIBYTE,
  },
];

/** Message ids are deduplicated this long, so that what is published again after a crash is stored once. */
const DUPLICATE_WINDOW_MS = HOUR_MS;
const BLOB_TTL_MS = 30 * DAY_MS;

const STORE_TOO_SMALL = new Set([10023, 10047]);
const STREAM_EXISTS = 10058;

export interface Stores {
  runs: KV;
  deadLetters: KV;
  blobs: ObjectStore;
  checkpoints: ObjectStore;
  files: ObjectStore;
}

/** Creates what is missing of streams and buckets; leaves existing ones as they are (an operator may have tuned them). */
export async function ensureTopology(
  js: JetStreamClient,
  jsm: JetStreamManager,
  logger: Logger,
): Promise<Stores> {
  for (const spec of STREAM_SPECS) await ensureStream(jsm, spec, logger);
  const kvm = new Kvm(js);
  const objm = new Objm(js);
  const storage = StorageType.File;
  return {
    runs: await kvm.create(BUCKETS.runs, { history: 1, storage }),
    deadLetters: await kvm.create(BUCKETS.deadLetters, { history: 1, storage, ttl: 30 * DAY_MS }),
    blobs: await objm.create(BUCKETS.blobs, { storage, ttl: nanos(BLOB_TTL_MS) }),
    checkpoints: await objm.create(BUCKETS.checkpoints, { storage }),
    files: await objm.create(BUCKETS.files, { storage }),
  };
}

async function ensureStream(jsm: JetStreamManager, spec: StreamSpec, logger: Logger): Promise<void> {
  const config = { ...spec, storage: StorageType.File, duplicate_window: nanos(DUPLICATE_WINDOW_MS) };
  try {
    await jsm.streams.info(spec.name);
    return;
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || error.code !== 10059) throw error;
  }
  try {
    await jsm.streams.add(config);
  } catch (error) {
    if (!(error instanceof JetStreamApiError)) throw error;
    if (error.code === STREAM_EXISTS) return;
    if (!STORE_TOO_SMALL.has(error.code)) throw error;
    logger.warn(
      `the store of NATS is too small to reserve ${spec.max_bytes} bytes for ${spec.name}: created without a bound`,
    );
    await jsm.streams.add({ ...config, max_bytes: -1 });
  }
}
