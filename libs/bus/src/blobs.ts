import { createHash } from 'node:crypto';
import type { ObjectStore } from '@nats-io/obj';
import { BusError } from './errors';
import { withRetry, type RetryContext } from './retry';

export interface ObjectContext extends RetryContext {
  store(): Promise<ObjectStore>;
}

export interface BlobContext extends ObjectContext {
  /** The last message of a subject of the store's stream, or null. */
  lastMessage(subject: string): Promise<Uint8Array | null>;
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

const KNOWN_HASHES = 65_536;

/** Bytes by their sha256 (hex): each content is stored once, whoever puts it. */
export class BlobStore {
  private readonly known = new Set<string>();
  private readonly inFlight = new Map<string, Promise<void>>();

  constructor(private readonly context: BlobContext) {}

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
    const bytes = await withRetry(`read blob ${hash}`, this.context, () => this.read(hash));
    if (bytes === null) return null;
    const found = sha256(bytes);
    if (found !== hash)
      throw new BusError('damaged', `blob ${hash} is damaged: its content hashes to ${found}`);
    return bytes;
  }

  /** A blob of one chunk, as screenshots are, needs no consumer, which makes it several times as fast. */
  private async read(hash: string): Promise<Uint8Array | null> {
    const store = await this.context.store();
    const info = await store.info(hash);
    if (info === null || info.deleted) return null;
    const chunk =
      info.chunks === 1 ? await this.context.lastMessage(`$O.${info.bucket}.C.${info.nuid}`) : null;
    return chunk ?? store.getBlob(hash);
  }

  private async upload(hash: string, bytes: Uint8Array): Promise<void> {
    await withRetry(`store blob ${hash}`, this.context, async () => {
      const store = await this.context.store();
      const info = await store.info(hash);
      if (info === null || info.deleted) await store.putBlob({ name: hash }, bytes);
    });
    this.remember(hash);
  }

  private remember(hash: string): void {
    if (this.known.size >= KNOWN_HASHES) {
      const oldest = this.known.values().next();
      if (oldest.done !== true) this.known.delete(oldest.value);
    }
    this.known.add(hash);
  }

  /** Forgets which hashes are stored: the broker may have come back without them. */
  forgetKnown(): void {
    this.known.clear();
  }
}

export interface StoredFile {
  name: string;
  sizeBytes: number;
}

/** Named files, such as the parts of a checkpoint: `<run>/000080/adapter_model.safetensors`. */
export class FileStore {
  constructor(private readonly context: ObjectContext) {}

  /** Stores the bytes under the name, over what was there. */
  async put(name: string, bytes: Uint8Array): Promise<void> {
    await this.run(`store file ${name}`, (store) => store.putBlob({ name }, bytes));
  }

  async get(name: string): Promise<Uint8Array | null> {
    return this.run(`read file ${name}`, (store) => store.getBlob(name));
  }

  async list(prefix = ''): Promise<StoredFile[]> {
    const files = await this.run('list files', (store) => store.list());
    return files
      .filter((file) => !file.deleted && file.name.startsWith(prefix))
      .map((file) => ({ name: file.name, sizeBytes: file.size }));
  }

  async delete(name: string): Promise<void> {
    await this.run(`delete file ${name}`, (store) => store.delete(name));
  }

  private run<T>(what: string, operation: (store: ObjectStore) => Promise<T>): Promise<T> {
    return withRetry(what, this.context, async () => operation(await this.context.store()));
  }
}
