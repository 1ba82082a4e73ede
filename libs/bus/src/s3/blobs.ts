import { sha256, type BlobPlace } from '../blobs';
import type { S3Bucket } from './bucket';

/** Each run has a folder below it. */
const FOLDER = 'blobs/';

/** Blobs as objects of a bucket. */
export class S3Blobs implements BlobPlace {
  constructor(private readonly bucket: S3Bucket) {}

  async write(runId: string, hash: string, bytes: Uint8Array): Promise<void> {
    await this.bucket.put(keyOf(runId, hash), bytes, sha256(bytes));
  }

  async read(runId: string, hash: string): Promise<Uint8Array | null> {
    return (await this.bucket.get(keyOf(runId, hash)))?.bytes ?? null;
  }

  /** The storage that a run's blobs use. */
  async use(runId: string): Promise<{ messages: number; bytes: number }> {
    const use = { messages: 0, bytes: 0 };
    for await (const { sizeBytes } of this.bucket.list(keyOf(runId, ''))) {
      use.messages += 1;
      use.bytes += sizeBytes;
    }
    return use;
  }

  async delete(runId: string): Promise<void> {
    const keys: string[] = [];
    for await (const { key } of this.bucket.list(keyOf(runId, ''))) keys.push(key);
    await this.bucket.delete(keys);
  }
}

function keyOf(runId: string, hash: string): string {
  return `${FOLDER}${runId}/${hash}`;
}
