import { randomUUID } from 'node:crypto';
import { BusError } from '../errors';
import type { S3Bucket } from './bucket';

/** Says which bucket this is: two of the same name may lie at different addresses, and one at two. */
const KEY = 'ui-rl.json';
const ID = /^[0-9a-f-]{36}$/;

/** Of a bucket, or of a folder in it, that services share. It is given one where it has none, which needs that it may be written. */
export async function identityOf(bucket: S3Bucket): Promise<string> {
  const known = await readIdentity(bucket);
  if (known !== null) return known;
  await bucket.create(KEY, Buffer.from(`${JSON.stringify({ id: randomUUID() })}\n`));
  const given = await readIdentity(bucket);
  if (given !== null) return given;
  throw new BusError('configuration', `the bucket has lost what was stored as ${KEY} a moment ago`);
}

/** Null where it has none yet. Throws `BusError` `damaged`. */
export async function readIdentity(bucket: S3Bucket): Promise<string | null> {
  const found = await bucket.get(KEY);
  if (found === null) return null;
  try {
    const { id } = JSON.parse(Buffer.from(found.bytes).toString('utf8')) as { id?: unknown };
    if (typeof id === 'string' && ID.test(id)) return id;
  } catch {
    // Said below.
  }
  throw new BusError('damaged', `${KEY} of the bucket is not what ui-rl has stored: expected {"id": …}`);
}
