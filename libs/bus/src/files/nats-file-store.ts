import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { Base64UrlPaddedCodec, type ObjectInfo, type ObjectStore } from '@nats-io/obj';
import { RequestError } from '@nats-io/transport-node';
import { BUCKETS } from '@ui-rl/contracts';
import type { Broker } from '../broker';
import { BusError } from '../errors';
import { inBatches } from '../in-batches';
import { partBytes } from '../parts';
import { withRetry } from '../retry';
import { countBySubject } from '../run-messages';
import { compareDigests, type FileStore, type StoredFile } from './file-store';
import { digestOfBytes, type Digest } from './manifest';

/** For one chunk: half a megabyte in this time is 140 kbit/s. */
const CHUNK_TIMEOUT_MS = 30_000;
const SHA256 = 'SHA-256=';

/** Files in an object store of the broker, in chunks. Every operation waits while the broker is unavailable. */
export class NatsFileStore implements FileStore {
  constructor(
    private readonly broker: Broker,
    private readonly bucket: 'checkpoints' | 'files',
  ) {}

  async put(name: string, bytes: Uint8Array): Promise<void> {
    await this.run(`store file ${name}`, (store) =>
      store.putBlob(this.metaOf(name), bytes, { timeout: CHUNK_TIMEOUT_MS }),
    );
  }

  async putFile(name: string, path: string): Promise<Digest> {
    const info = await this.run(`store ${path} as ${name}`, async (store) => {
      const file = createReadStream(path, { highWaterMark: partBytes(this.broker) });
      const lost = this.untilReconnected();
      const put = store.put(this.metaOf(name), webStream(file), { timeout: CHUNK_TIMEOUT_MS });
      put.catch(() => undefined);
      try {
        return await Promise.race([put, lost.rejected]);
      } finally {
        lost.forget();
        file.destroy();
      }
    });
    return digestFrom(info);
  }

  async get(name: string): Promise<Uint8Array | null> {
    const info = await this.info(name);
    if (info === null) return null;
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.chunks(info)) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    compareDigests(this.place(name), digestOfBytes(bytes), digestFrom(info));
    return bytes;
  }

  async digest(name: string): Promise<Digest | null> {
    const info = await this.info(name);
    return info === null ? null : digestFrom(info);
  }

  async getFile(name: string, path: string, expected: Digest): Promise<void> {
    const info = await this.info(name);
    if (info === null) throw new BusError('missing', `bucket ${this.name} holds no file ${name}`);
    const hash = createHash('sha256');
    let sizeBytes = 0;
    const file = await open(path, 'wx');
    try {
      for await (const chunk of this.chunks(info)) {
        hash.update(chunk);
        sizeBytes += chunk.byteLength;
        await file.writeFile(chunk);
      }
    } finally {
      await file.close();
    }
    compareDigests(this.place(name), { sizeBytes, sha256: hash.digest('hex') }, expected);
  }

  async list(prefix = ''): Promise<StoredFile[]> {
    return (await this.infos(prefix)).map(({ name, size }) => ({ name, sizeBytes: size }));
  }

  async delete(name: string): Promise<void> {
    const info = await this.info(name);
    if (info === null) return;
    await this.purge(`$O.${this.name}.M.${Base64UrlPaddedCodec.encode(name)}`);
    await this.purge(this.chunksOf(info));
  }

  /** Uploads in progress have younger chunks. */
  async sweep(olderThanMs = 3_600_000): Promise<number> {
    const chunks = await this.run('list chunks', () =>
      countBySubject(this.broker, this.stream, `$O.${this.name}.C.>`),
    );
    const named = new Set((await this.infos()).map((info) => this.chunksOf(info)));
    const left = [...chunks.keys()].filter((subject) => !named.has(subject));
    let freed = 0;
    for (const subject of left) {
      const last = await this.run('read a chunk', () =>
        this.broker.jsm.streams.getMessage(this.stream, { last_by_subj: subject }),
      );
      if (last === null || Date.now() - last.time.getTime() < olderThanMs) continue;
      await this.purge(subject);
      freed += 1;
    }
    return freed;
  }

  /** One retried request per chunk: the object store's own reader does not survive a broker restart. */
  private async *chunks(info: ObjectInfo): AsyncGenerator<Uint8Array> {
    let seq = 1;
    for (let read = 0; read < info.chunks; read += 1) {
      const query = { seq, next_by_subj: this.chunksOf(info) };
      const message = await this.run(`read file ${info.name}`, () =>
        this.broker.jsm.direct.getMessage(this.stream, query),
      );
      if (message === null) {
        throw new BusError(
          'missing',
          `file ${info.name} of bucket ${this.name} was deleted while it was read`,
        );
      }
      seq = message.seq + 1;
      yield message.data;
    }
  }

  /** Rejects once the connection was lost and restored: requests from before get no answer. */
  private untilReconnected(): { rejected: Promise<never>; forget: () => void } {
    let forget: () => void = () => undefined;
    const rejected = new Promise<never>((_, reject) => {
      forget = this.broker.onReconnect(() => reject(new RequestError('the connection was lost')));
    });
    return { rejected, forget };
  }

  private metaOf(name: string): { name: string; options: { max_chunk_size: number } } {
    return { name, options: { max_chunk_size: partBytes(this.broker) } };
  }

  private place(name: string): string {
    return `file ${name} of bucket ${this.name}`;
  }

  private async info(name: string): Promise<ObjectInfo | null> {
    const info = await this.run(`look for file ${name}`, (store) => store.info(name));
    return info === null || info.deleted ? null : info;
  }

  /**
   * All files whose names start with the prefix, requested one by one: the client's own list waits for as many
   * entries as existed at its start, which never arrive if others are deleted meanwhile.
   */
  private async infos(prefix = ''): Promise<ObjectInfo[]> {
    const metas = `$O.${this.name}.M.`;
    const subjects = await this.run('list files', () =>
      countBySubject(this.broker, this.stream, `${metas}>`),
    );
    const names = [...subjects.keys()]
      .map((subject) => String(Base64UrlPaddedCodec.decode(subject.slice(metas.length))))
      .filter((name) => name.startsWith(prefix));
    const infos = await inBatches(names, (name) => this.info(name));
    return infos.filter((info) => info !== null);
  }

  private chunksOf({ nuid }: ObjectInfo): string {
    return `$O.${this.name}.C.${nuid}`;
  }

  private async purge(subject: string): Promise<void> {
    await this.run(`delete ${subject}`, () =>
      this.broker.jsm.streams.purge(this.stream, { filter: subject }),
    );
  }

  private get name(): string {
    return BUCKETS[this.bucket];
  }

  private get stream(): string {
    return `OBJ_${this.name}`;
  }

  private run<T>(what: string, operation: (store: ObjectStore) => Promise<T>): Promise<T> {
    return withRetry(what, this.broker, async () => operation((await this.broker.stores())[this.bucket]));
  }
}

function webStream(file: Readable): globalThis.ReadableStream<Uint8Array> {
  return Readable.toWeb(file) as ReadableStream<Uint8Array> as globalThis.ReadableStream<Uint8Array>;
}

function digestFrom({ size, digest }: ObjectInfo): Digest {
  return { sizeBytes: size, sha256: Buffer.from(digest.slice(SHA256.length), 'base64url').toString('hex') };
}
