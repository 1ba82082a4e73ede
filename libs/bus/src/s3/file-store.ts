import { createHash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { BusError } from '../errors';
import { compareDigests, type FileStore, type StoredFile } from '../files/file-store';
import { digestOf, digestOfBytes, type Digest } from '../files/manifest';
import type { S3Bucket } from './bucket';

/** Size of a part, and the maximum size of a single-request upload. */
const PART_BYTES = 16 * 2 ** 20;
/** S3's own limit. */
const MOST_PARTS = 10_000;
const HOUR_MS = 3_600_000;

/** Files in a bucket, each an object with its digest. */
export class S3FileStore implements FileStore {
  constructor(
    private readonly bucket: S3Bucket,
    /** Prefix of their keys, with a trailing slash. */
    private readonly folder: string,
  ) {}

  async put(name: string, bytes: Uint8Array): Promise<void> {
    await this.bucket.put(this.key(name), bytes, digestOfBytes(bytes).sha256);
  }

  async putFile(name: string, path: string): Promise<Digest> {
    const digest = await digestOf(path);
    const file = await open(path);
    try {
      if (digest.sizeBytes > PART_BYTES) await this.putParts(name, path, file, digest);
      else await this.put(name, same(path, await file.readFile(), digest));
    } finally {
      await file.close();
    }
    return digest;
  }

  async get(name: string): Promise<Uint8Array | null> {
    const found = await this.bucket.get(this.key(name));
    if (found === null) return null;
    const { sha256 } = this.known(name, { ...found, sizeBytes: found.bytes.byteLength });
    compareDigests(this.place(name), digestOfBytes(found.bytes), {
      sizeBytes: found.bytes.byteLength,
      sha256,
    });
    return found.bytes;
  }

  async digest(name: string): Promise<Digest | null> {
    const found = await this.bucket.head(this.key(name));
    return found === null ? null : this.known(name, found);
  }

  async getFile(name: string, path: string, expected: Digest): Promise<void> {
    const head = await this.bucket.head(this.key(name));
    if (head === null) throw this.missing(name);
    const hash = createHash('sha256');
    const file = await open(path, 'wx');
    try {
      for (let from = 0; from < head.sizeBytes; from += PART_BYTES) {
        const size = Math.min(PART_BYTES, head.sizeBytes - from);
        const bytes = await this.bucket.getRange(this.key(name), from, size, head.etag);
        if (bytes === null) throw this.missing(name);
        hash.update(bytes);
        await file.writeFile(bytes);
      }
    } finally {
      await file.close();
    }
    const found = { sizeBytes: head.sizeBytes, sha256: hash.digest('hex') };
    compareDigests(this.place(name), found, expected);
  }

  async list(prefix = ''): Promise<StoredFile[]> {
    const files: StoredFile[] = [];
    for await (const { key, sizeBytes } of this.bucket.list(this.key(prefix)))
      files.push({ name: key.slice(this.folder.length), sizeBytes });
    return files;
  }

  async delete(name: string): Promise<void> {
    await this.bucket.delete([this.key(name)]);
  }

  async sweep(olderThanMs = HOUR_MS): Promise<number> {
    const left = await this.bucket.uploadsBefore(this.folder, Date.now() - olderThanMs);
    for (const upload of left) await this.bucket.abortUpload(upload);
    return left.length;
  }

  private async putParts(name: string, path: string, file: FileHandle, digest: Digest): Promise<void> {
    const size = Math.max(PART_BYTES, Math.ceil(digest.sizeBytes / MOST_PARTS));
    const upload = await this.bucket.beginUpload(this.key(name), digest.sha256);
    try {
      const hash = createHash('sha256');
      const etags: (string | undefined)[] = [];
      for (let from = 0; from < digest.sizeBytes; from += size) {
        const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(size), position: from });
        const part = buffer.subarray(0, bytesRead);
        hash.update(part);
        etags.push(await this.bucket.putPart(upload, etags.length + 1, part));
      }
      if (hash.digest('hex') !== digest.sha256) throw changed(path);
      await this.bucket.endUpload(upload, etags);
    } catch (error) {
      await this.bucket.abortUpload(upload).catch(() => undefined);
      throw error;
    }
  }

  private known(name: string, { sizeBytes, sha256 }: { sizeBytes: number; sha256?: string }): Digest {
    if (sha256 !== undefined) return { sizeBytes, sha256 };
    throw new BusError('damaged', `${this.place(name)} has no digest: something else has stored it`);
  }

  private missing(name: string): BusError {
    return new BusError('missing', `${this.place(name)} is not there`);
  }

  private place(name: string): string {
    return `object ${this.key(name)}`;
  }

  private key(name: string): string {
    return `${this.folder}${name}`;
  }
}

function same(path: string, bytes: Uint8Array, { sha256 }: Digest): Uint8Array {
  if (digestOfBytes(bytes).sha256 === sha256) return bytes;
  throw changed(path);
}

function changed(path: string): BusError {
  return new BusError('damaged', `${path} was changed while it was being stored: try again`);
}
