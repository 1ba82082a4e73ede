import { randomUUID } from 'node:crypto';
import { BusError } from '../errors';
import type { S3Bucket } from './bucket';

/**
 * Identifies the bucket: two buckets of one name may exist at different addresses, and one bucket may have two
 * addresses.
 */
const KEY = 'ui-rl.json';
const ID = /^[0-9a-f-]{36}$/;

/**
 * Identity of a bucket, or of a folder in it, that services share. Creates a missing identity, which requires write
 * access.
 */
export async function identityOf(bucket: S3Bucket): Promise<string> {
  const known = await readIdentity(bucket);
  if (known !== null) return known;
  await bucket.create(KEY, Buffer.from(`${JSON.stringify({ id: randomUUID() })}\n`));
  const given = await readIdentity(bucket);
  if (given !== null) return given;
  throw new BusError('configuration', `the bucket has lost what was stored as ${KEY} a moment ago`);
}

/** Null if there is none yet. Throws `BusError` `damaged`. */
export async function readIdentity(bucket: S3Bucket): Promise<string | null> {
  const found = await bucket.get(KEY);
  if (found === null) return null;
  try {
    const { id } = JSON.parse(Buffer.from(found.bytes).toString('utf8')) as { id?: unknown };
    if (typeof id === 'string' && ID.test(id)) return id;
  } catch {
    // Reported below.
  }
  throw new BusError('damaged', `${KEY} of the bucket is not what ui-rl has stored: expected {"id": …}`);
}
