import { ANY, BUCKETS, runKeys, STREAMS } from '@ui-rl/contracts';
import type { BlobPlace } from './blobs';
import type { Broker } from './broker';
import { BrokerBlobs } from './broker-blobs';
import { describeError } from '@ui-rl/retry';
import { BusError } from './errors';
import { NatsFileStore, type FileStore } from './files';
import type { KvBucket } from './kv';
import { withRetry } from './retry';
import { addressOf, identityOf, placeOf, S3Blobs, S3Bucket, S3FileStore, type S3Options } from './s3';

/** The stores of large data. */
export interface Storage {
  blobs: BlobPlace;
  /** Null if blobs are messages of the broker, which are measured and deleted as messages. */
  outside: S3Blobs | null;
  checkpoints: FileStore;
  files: FileStore;
  /** Throws `BusError` `configuration` if the services of the broker use different stores. */
  agree: () => Promise<void>;
}

/** Opens the store and verifies that every service of the broker uses it. Throws `BusError`. */
export async function openStorage(
  broker: Broker,
  runs: KvBucket,
  s3: S3Options | undefined,
): Promise<Storage> {
  const storage = s3 === undefined ? atBroker(broker, runs) : await inBucket(broker, runs, s3);
  await storage.agree();
  return storage;
}

function atBroker(broker: Broker, runs: KvBucket): Storage {
  return {
    blobs: new BrokerBlobs(broker),
    outside: null,
    checkpoints: new NatsFileStore(broker, 'checkpoints'),
    files: new NatsFileStore(broker, 'files'),
    agree: () => agreeOn({ broker, runs, note: '', says: 'at the broker', set: 'leave BLOBS out' }),
  };
}

async function inBucket(broker: Broker, runs: KvBucket, options: S3Options): Promise<Storage> {
  const bucket = await S3Bucket.open(options, broker);
  const note = `blobs: ${addressOf(options)} ${await identityOf(bucket)}`;
  const blobs = new S3Blobs(bucket);
  return {
    blobs,
    outside: blobs,
    checkpoints: new S3FileStore(bucket, `${BUCKETS.checkpoints}/`),
    files: new S3FileStore(bucket, `${BUCKETS.files}/`),
    agree: () =>
      agreeOn({ broker, runs, note, says: `in ${placeOf(options)}`, set: `set BLOBS=${addressOf(options)}` }),
  };
}

interface Meant {
  broker: Broker;
  runs: KvBucket;
  /** The store's note in the stream description; empty if the broker stores blobs itself. */
  note: string;
  /** For error messages. */
  says: string;
  set: string;
}

/** Compares with the broker's note; an empty store may be replaced by another. */
async function agreeOn({ broker, runs, note, says, set }: Meant): Promise<void> {
  const found = await noteOf(broker);
  if (found === note) return;
  const held = found === '' ? await heldByBroker(broker) : await heldByRuns(runs);
  if (held !== null) {
    const [, elsewhere, id] = /^blobs: (\S+) (\S+)$/.exec(found) ?? [];
    const others = elsewhere === undefined ? 'at the broker' : `in ${elsewhere} (${id})`;
    const same = elsewhere !== undefined && note.startsWith(`blobs: ${elsewhere} `);
    const hint = same
      ? `It is another bucket of that name, or was emptied: compare AWS_ENDPOINT_URL_S3`
      : elsewhere === undefined
        ? 'Leave BLOBS out here'
        : `Set BLOBS=${elsewhere} here`;
    throw new BusError(
      'configuration',
      `${broker.service} keeps screenshots, checkpoints and shared files ${says}, and the others of this broker ${others}, where ${held}. ` +
        `${hint}; or, to move all of them, delete these and ${set} for every service`,
    );
  }
  await change(broker, note, says);
}

async function noteOf(broker: Broker): Promise<string> {
  return (await infoOf(broker, STREAMS.blobs)).config.description ?? '';
}

/** Null if it holds nothing. */
async function heldByBroker(broker: Broker): Promise<string | null> {
  for (const stream of [STREAMS.blobs, `OBJ_${BUCKETS.checkpoints}`, `OBJ_${BUCKETS.files}`]) {
    const { state } = await infoOf(broker, stream);
    if (state.messages > 0) return `${stream} holds ${state.messages} messages`;
  }
  return null;
}

async function heldByRuns(runs: KvBucket): Promise<string | null> {
  const { length } = await runs.keys(runKeys.record(ANY));
  return length === 0 ? null : `${length} runs are`;
}

function infoOf(broker: Broker, stream: string) {
  return withRetry(`look at ${stream}`, broker, () => broker.jsm.streams.info(stream));
}

async function change(broker: Broker, note: string, says: string): Promise<void> {
  try {
    await broker.jsm.streams.update(STREAMS.blobs, { description: note });
    broker.logger.log(
      `screenshots, checkpoints and shared files of this broker are kept ${says} from now on`,
    );
  } catch (cause) {
    throw new BusError(
      'configuration',
      `${broker.service} may not say that blobs are kept ${says} (${describeError(cause)}): start a command of the operator with the same BLOBS first, such as ui-rl runs list`,
      { cause },
    );
  }
}
