import { addAbortSignal, type Readable } from 'node:stream';
import type * as Sdk from '@aws-sdk/client-s3';
import { DEADLINES, everyFewSeconds, RETRIES, retry } from '@ui-rl/retry';
import type { RetryContext } from '../retry';
import { BusError } from '../errors';
import { MAX_PARTED_BYTES } from '../parts';
import { isAbsent, isOvertaken, isPassing, meaningOf } from './errors';
import type { S3Options } from './options';

export interface S3Object {
  bytes: Uint8Array;
  /** Hex digest recorded at upload; undefined for objects of other programs. */
  sha256: string | undefined;
}

export interface S3Head {
  sizeBytes: number;
  sha256: string | undefined;
  /** Changes with the content. */
  etag: string | undefined;
}

/** A multipart upload. */
export interface S3Upload {
  key: string;
  id: string;
}

type Context = Pick<RetryContext, 'closing' | 'logger'>;
type Send = Sdk.S3Client['send'];

/** Limit of one delete request. */
const DELETED_AT_ONCE = 1_000;
const SHA256 = 'sha256';
const AWS_DEFAULT_REGION = 'us-east-1';

/** Requests to one bucket, each with a deadline and retries where they can help. Keys are relative to the prefix. */
export class S3Bucket {
  private constructor(
    private readonly sdk: typeof Sdk,
    private readonly client: Sdk.S3Client,
    private readonly options: S3Options,
    private readonly context: Context,
    private readonly attempts: number | undefined,
  ) {}

  /**
   * Loads AWS's client lazily, so that services without a bucket do not pay for it.
   * @param attempts at each request; default: retries for some minutes
   */
  static async open(
    options: S3Options,
    context: Context,
    { attempts }: { attempts?: number } = {},
  ): Promise<S3Bucket> {
    const sdk = await import('@aws-sdk/client-s3');
    const { endpoint, credentials } = options;
    const region = options.region ?? (endpoint === undefined ? undefined : AWS_DEFAULT_REGION);
    const client = new sdk.S3Client({
      ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
      region,
      credentials,
      // Not every S3-compatible service supports these, and every read verifies its own digest.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      // Retried below, with a log message.
      maxAttempts: 1,
      requestHandler: { connectionTimeout: DEADLINES.connect.ms },
    });
    context.closing.addEventListener('abort', () => client.destroy(), { once: true });
    return new S3Bucket(sdk, client, options, context, attempts);
  }

  async put(key: string, bytes: Uint8Array, sha256: string): Promise<void> {
    const command = () =>
      new this.sdk.PutObjectCommand({ ...this.at(key), Body: bytes, Metadata: { [SHA256]: sha256 } });
    await this.run(`store ${key}`, (send, abortSignal) => send(command(), { abortSignal }));
  }

  /** Stores bytes unless the key exists. */
  async create(key: string, bytes: Uint8Array): Promise<void> {
    const command = () => new this.sdk.PutObjectCommand({ ...this.at(key), Body: bytes, IfNoneMatch: '*' });
    await this.run(`store ${key}`, async (send, abortSignal) => {
      await send(command(), { abortSignal }).catch((error: unknown) => {
        if (!isOvertaken(error)) throw error;
      });
    });
  }

  /**
   * Reads a whole object, up to the size limit of blobs and manifests. Throws `BusError` `damaged` if it is larger.
   */
  async get(key: string): Promise<S3Object | null> {
    const command = () => new this.sdk.GetObjectCommand(this.at(key));
    return this.unlessAbsent(`read ${key}`, async (send, abortSignal) => {
      const { Body, Metadata } = await send(command(), { abortSignal });
      const bytes = await readUpTo(MAX_PARTED_BYTES, Body as Readable, key, abortSignal);
      return { bytes, sha256: Metadata?.[SHA256] };
    });
  }

  /** Reads a part of the object with that etag. Throws `BusError` `missing` if the object has changed. */
  async getRange(
    key: string,
    from: number,
    sizeBytes: number,
    etag: string | undefined,
  ): Promise<Uint8Array | null> {
    const range = { Range: `bytes=${from}-${from + sizeBytes - 1}`, IfMatch: etag };
    const command = () => new this.sdk.GetObjectCommand({ ...this.at(key), ...range });
    return this.unlessAbsent(`read ${key}`, async (send, abortSignal) => {
      const { Body } = await send(command(), { abortSignal });
      return readUpTo(sizeBytes, Body as Readable, key, abortSignal);
    });
  }

  async head(key: string): Promise<S3Head | null> {
    const command = () => new this.sdk.HeadObjectCommand(this.at(key));
    return this.unlessAbsent(`look for ${key}`, async (send, abortSignal) => {
      const { ContentLength = 0, Metadata, ETag } = await send(command(), { abortSignal });
      return { sizeBytes: ContentLength, sha256: Metadata?.[SHA256], etag: ETag };
    });
  }

  /** Keys with the prefix, and their sizes. */
  async *list(prefix: string): AsyncGenerator<{ key: string; sizeBytes: number }> {
    const { Bucket, Key: Prefix } = this.at(prefix);
    let token: string | undefined;
    do {
      const input = { Bucket, Prefix, ContinuationToken: token };
      const found = await this.run(`list ${prefix}`, (send, abortSignal) =>
        send(new this.sdk.ListObjectsV2Command(input), { abortSignal }),
      );
      for (const { Key = '', Size = 0 } of found.Contents ?? [])
        yield { key: this.relative(Key), sizeBytes: Size };
      token = found.NextContinuationToken;
    } while (token !== undefined);
  }

  async delete(keys: readonly string[]): Promise<void> {
    const { Bucket } = this.at('');
    for (let from = 0; from < keys.length; from += DELETED_AT_ONCE) {
      const Objects = keys.slice(from, from + DELETED_AT_ONCE).map((key) => ({ Key: this.at(key).Key }));
      const { Errors = [] } = await this.run('delete', (send, abortSignal) =>
        send(new this.sdk.DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } }), {
          abortSignal,
        }),
      );
      const [first] = Errors;
      if (first !== undefined)
        throw new BusError(
          'authorization',
          `${Errors.length} objects were not deleted: ${first.Key} (${first.Code})`,
        );
    }
  }

  async beginUpload(key: string, sha256: string): Promise<S3Upload> {
    const command = () =>
      new this.sdk.CreateMultipartUploadCommand({ ...this.at(key), Metadata: { [SHA256]: sha256 } });
    const { UploadId = '' } = await this.run(`store ${key}`, (send, abortSignal) =>
      send(command(), { abortSignal }),
    );
    return { key, id: UploadId };
  }

  /** @param number from 1 */
  async putPart({ key, id }: S3Upload, number: number, bytes: Uint8Array): Promise<string | undefined> {
    const part = { UploadId: id, PartNumber: number, Body: bytes };
    const { ETag } = await this.run(`store ${key}`, (send, abortSignal) =>
      send(new this.sdk.UploadPartCommand({ ...this.at(key), ...part }), { abortSignal }),
    );
    return ETag;
  }

  async endUpload({ key, id }: S3Upload, etags: readonly (string | undefined)[]): Promise<void> {
    const Parts = etags.map((ETag, index) => ({ ETag, PartNumber: index + 1 }));
    const end = { UploadId: id, MultipartUpload: { Parts } };
    await this.run(`store ${key}`, (send, abortSignal) =>
      send(new this.sdk.CompleteMultipartUploadCommand({ ...this.at(key), ...end }), { abortSignal }),
    );
  }

  async abortUpload({ key, id }: S3Upload): Promise<void> {
    const command = () => new this.sdk.AbortMultipartUploadCommand({ ...this.at(key), UploadId: id });
    await this.run(`give up ${key}`, (send, abortSignal) => send(command(), { abortSignal }));
  }

  /** Unfinished uploads that began before `at`. */
  async uploadsBefore(prefix: string, at: number): Promise<S3Upload[]> {
    const { Bucket, Key: Prefix } = this.at(prefix);
    const { Uploads = [] } = await this.run(`list uploads of ${prefix}`, (send, abortSignal) =>
      send(new this.sdk.ListMultipartUploadsCommand({ Bucket, Prefix }), { abortSignal }),
    );
    return Uploads.filter(({ Initiated }) => (Initiated?.getTime() ?? Infinity) < at).map(
      ({ Key = '', UploadId = '' }) => ({ key: this.relative(Key), id: UploadId }),
    );
  }

  private at(key: string): { Bucket: string; Key: string } {
    const { bucket, prefix } = this.options;
    return { Bucket: bucket, Key: prefix === '' ? key : `${prefix}/${key}` };
  }

  private relative(key: string): string {
    const { prefix } = this.options;
    return prefix === '' ? key : key.slice(prefix.length + 1);
  }

  private async unlessAbsent<T>(
    what: string,
    request: (send: Send, signal: AbortSignal) => Promise<T>,
  ): Promise<T | null> {
    return this.run(what, async (send, signal) => {
      try {
        return await request(send, signal);
      } catch (error) {
        if (isAbsent(error)) return null;
        throw error;
      }
    });
  }

  /** @param request must be idempotent */
  private async run<T>(what: string, request: (send: Send, signal: AbortSignal) => Promise<T>): Promise<T> {
    const { closing, logger } = this.context;
    if (closing.aborted) throw new BusError('closed', `the bus was closed before it could ${what}`);
    const send = this.client.send.bind<Send>(this.client);
    const attempt = () => request(send, AbortSignal.any([closing, AbortSignal.timeout(DEADLINES.bucket.ms)]));
    const told = (error: unknown) => meaningOf(error, what, this.options);
    try {
      return await retry({ ...RETRIES.bucket, attempts: this.attempts }, attempt, {
        signal: closing,
        isTransient: isPassing,
        onFailure: everyFewSeconds((error, failures) =>
          logger.warn(`${told(error).message}, trying again (attempt ${failures})`),
        ),
      });
    } catch (error) {
      if (closing.aborted) throw new BusError('closed', `the bus was closed while it tried to ${what}`);
      throw told(error);
    }
  }
}

async function readUpTo(
  maxBytes: number,
  body: Readable,
  key: string,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Leaving the loop destroys the body and closes its connection.
  for await (const chunk of addAbortSignal(signal, body) as AsyncIterable<Uint8Array>) {
    length += chunk.byteLength;
    if (length > maxBytes)
      throw new BusError('damaged', `${key} in the bucket has more than the ${maxBytes} bytes expected`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
