import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { BUCKETS } from '@ui-rl/contracts';
import type { Broker } from './broker';
import { BusError } from './errors';
import { withRetry } from './retry';

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

const KNOWN_HASHES = 65_536;

/** Bytes by their sha256 (hex): each content is stored once, whoever puts it. */
export class BlobStore {
  private readonly known = new LRUCache<string, true>({ max: KNOWN_HASHES });
  private readonly inFlight = new Map<string, Promise<void>>();

  constructor(private readonly broker: Broker) {
    // The broker may have come back without what was stored.
    broker.onStoresLost(() => this.known.clear());
  }

  /** Stores the bytes unless they are there; returns their hash, which a caller that knows it may pass. */
  async put(bytes: Uint8Array, hash = sha256(bytes)): Promise<string> {
    if (this.known.has(hash)) return hash;
    let upload = this.inFlight.get(hash);
    if (upload === undefined) {
      upload = this.upload(hash, bytes).finally(() => this.inFlight.delete(hash));
      this.inFlight.set(hash, upload);
    }
    await upload;
    return hash;
  }

  /** The bytes, or null where nobody stored them (or they are older than the bucket keeps). */
  async get(hash: string): Promise<Uint8Array | null> {
    const bytes = await withRetry(`read blob ${hash}`, this.broker, () => this.read(hash));
    if (bytes === null) return null;
    const found = sha256(bytes);
    if (found !== hash)
      throw new BusError('damaged', `blob ${hash} is damaged: its content hashes to ${found}`);
    return bytes;
  }

  /** A blob of one chunk, as screenshots are, needs no consumer, which makes it several times as fast. */
  private async read(hash: string): Promise<Uint8Array | null> {
    const store = (await this.broker.stores()).blobs;
    const info = await store.info(hash);
    if (info === null || info.deleted) return null;
    const chunk = info.chunks === 1 ? await this.chunk(`$O.${info.bucket}.C.${info.nuid}`) : null;
    return chunk ?? store.getBlob(hash);
  }

  /** The last message of a subject of the store's stream, or null. */
  private async chunk(subject: string): Promise<Uint8Array | null> {
    const stream = `OBJ_${BUCKETS.blobs}`;
    const message = await this.broker.jsm.streams.getMessage(stream, { last_by_subj: subject });
    return message?.data ?? null;
  }

  private async upload(hash: string, bytes: Uint8Array): Promise<void> {
    await withRetry(`store blob ${hash}`, this.broker, async () => {
      const store = (await this.broker.stores()).blobs;
      const info = await store.info(hash);
      if (info === null || info.deleted) await store.putBlob({ name: hash }, bytes);
    });
    this.known.set(hash, true);
  }
}
