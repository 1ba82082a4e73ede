import { Logger } from '@nestjs/common';
import { S3Bucket } from './bucket';
import { readIdentity } from './identity';
import { placeOf, type S3Options } from './options';

/** Sends one read request to a bucket and returns a description for users. Throws `BusError`. */
export async function inspectBucket(options: S3Options): Promise<string> {
  const over = new AbortController();
  try {
    const bucket = await S3Bucket.open(
      options,
      { closing: over.signal, logger: new Logger('bucket') },
      { attempts: 1 },
    );
    const identity = await readIdentity(bucket);
    await bucket.list('blobs/').next();
    return `${placeOf(options)}, ${identity === null ? 'not used yet' : 'answers'}`;
  } finally {
    over.abort();
  }
}
