import { createHash } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Stored {
  bytes: Buffer;
  /** `x-amz-meta-…` */
  metadata: Record<string, string>;
}
interface Request {
  method: string;
  key: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: Buffer;
}
interface Answer {
  status: number;
  body?: Buffer | string;
  headers?: Record<string, string>;
}

/** Keys per page of a list. */
const PAGE = 3;
const META = 'x-amz-meta-';

/**
 * A fake S3 server according to the documentation (https://docs.aws.amazon.com/AmazonS3/latest/API): one bucket as
 * part of the path, objects with metadata, ranges, conditions, paginated lists, multipart uploads. It checks the key
 * id of a request, not its signature.
 */
export class FakeS3 {
  readonly bucket = 'lab';
  readonly credentials = { accessKeyId: 'AKIDOFTHELAB', secretAccessKey: 'of-the-lab' };
  /** Objects by key. */
  readonly objects = new Map<string, Stored>();
  /** `PUT key`, in order. */
  readonly requests: string[] = [];
  /** Status codes of the next responses. */
  failures: number[] = [];
  private readonly uploads = new Map<string, { key: string; parts: Map<number, Buffer>; stored: Stored }>();
  private readonly server: Server;

  private constructor() {
    this.server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { pathname, searchParams: query } = new URL(request.url ?? '/', 'http://s3');
        const [, bucket, ...key] = decodeURIComponent(pathname).split('/');
        const asked = { method: request.method ?? '', key: key.join('/'), query, headers: request.headers };
        const failure = this.failures.shift();
        const answer =
          failure === undefined
            ? this.answer(bucket, { ...asked, body: Buffer.concat(chunks) })
            : refusal(failure, failure === 503 ? 'SlowDown' : 'InternalError');
        response.writeHead(answer.status, { 'content-length': length(answer.body), ...answer.headers });
        response.end(asked.method === 'HEAD' ? undefined : answer.body);
      });
    });
  }

  static async start(): Promise<FakeS3> {
    const fake = new FakeS3();
    await new Promise<void>((listening) => fake.server.listen(0, '127.0.0.1', listening));
    return fake;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Unfinished multipart uploads. */
  get unfinished(): number {
    return this.uploads.size;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((stopped) => this.server.close(stopped));
  }

  private answer(bucket: string, request: Request): Answer {
    const { method, key, query, headers } = request;
    this.requests.push(`${method} ${key}`);
    if (!headers.authorization?.includes(`Credential=${this.credentials.accessKeyId}/`))
      return refusal(403, 'InvalidAccessKeyId');
    if (bucket !== this.bucket) return refusal(404, 'NoSuchBucket');
    if (query.has('uploads') || query.has('uploadId')) return this.answerUpload(request);
    if (method === 'POST' && query.has('delete')) return this.deleteAll(request);
    if (method === 'PUT') return this.put(request);
    if (method === 'GET' && query.has('list-type')) return this.list(query);
    const stored = this.objects.get(key);
    if (stored === undefined) return refusal(404, 'NoSuchKey');
    return read(stored, headers);
  }

  private put({ key, headers, body }: Request): Answer {
    if (headers['if-none-match'] === '*' && this.objects.has(key)) return refusal(412, 'PreconditionFailed');
    const stored = { bytes: body, metadata: metadataOf(headers) };
    this.objects.set(key, stored);
    return { status: 200, headers: { etag: etagOf(body) } };
  }

  private deleteAll({ body }: Request): Answer {
    for (const [, key] of body.toString('utf8').matchAll(/<Key>([^<]*)<\/Key>/g)) this.objects.delete(key);
    return { status: 200, body: '<DeleteResult/>' };
  }

  private list(query: URLSearchParams): Answer {
    const prefix = query.get('prefix') ?? '';
    const from = Number(query.get('continuation-token') ?? 0);
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix)).toSorted();
    const contents = keys.slice(from, from + PAGE).map((key) => {
      const { bytes } = this.objects.get(key)!;
      return `<Contents><Key>${key}</Key><Size>${bytes.byteLength}</Size></Contents>`;
    });
    const next =
      from + PAGE < keys.length ? `<NextContinuationToken>${from + PAGE}</NextContinuationToken>` : '';
    return { status: 200, body: `<ListBucketResult>${contents.join('')}${next}</ListBucketResult>` };
  }

  private answerUpload({ method, key, query, headers, body }: Request): Answer {
    if (query.has('uploads')) return method === 'POST' ? this.begin(key, headers) : this.listUploads();
    const id = query.get('uploadId') ?? '';
    const upload = this.uploads.get(id);
    if (upload === undefined) return refusal(404, 'NoSuchUpload');
    if (method === 'PUT') {
      upload.parts.set(Number(query.get('partNumber')), body);
      return { status: 200, headers: { etag: etagOf(body) } };
    }
    this.uploads.delete(id);
    if (method === 'DELETE') return { status: 204 };
    const parts = [...upload.parts].toSorted(([a], [b]) => a - b).map(([, part]) => part);
    const [named] = [
      [...body.toString('utf8').matchAll(/<ETag>(?:&quot;|")?([^<&"]*)/g)].map(([, etag]) => etag),
    ];
    if (named.join() !== parts.map((part) => etagOf(part).slice(1, -1)).join())
      return refusal(400, 'InvalidPart');
    this.objects.set(key, { ...upload.stored, bytes: Buffer.concat(parts) });
    return { status: 200, body: '<CompleteMultipartUploadResult/>' };
  }

  private begin(key: string, headers: IncomingHttpHeaders): Answer {
    const id = `upload-${this.uploads.size + this.requests.length}`;
    const stored = { bytes: Buffer.alloc(0), metadata: metadataOf(headers) };
    this.uploads.set(id, { key, parts: new Map(), stored });
    const body = `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`;
    return { status: 200, body };
  }

  private listUploads(): Answer {
    const all = [...this.uploads].map(
      ([id, { key }]) =>
        `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>2026-01-01T00:00:00.000Z</Initiated></Upload>`,
    );
    return { status: 200, body: `<ListMultipartUploadsResult>${all.join('')}</ListMultipartUploadsResult>` };
  }
}

function read({ bytes, metadata }: Stored, headers: IncomingHttpHeaders): Answer {
  const etag = etagOf(bytes);
  const described = Object.fromEntries(
    Object.entries(metadata).map(([name, value]) => [`${META}${name}`, value]),
  );
  if (headers['if-match'] !== undefined && headers['if-match'] !== etag)
    return refusal(412, 'PreconditionFailed');
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
  if (from === undefined) return { status: 200, body: bytes, headers: { etag, ...described } };
  return { status: 206, body: bytes.subarray(Number(from), Number(to) + 1), headers: { etag, ...described } };
}

function refusal(status: number, code: string): Answer {
  const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>refused: ${code}</Message></Error>`;
  return { status, body, headers: { 'content-type': 'application/xml' } };
}

function metadataOf(headers: IncomingHttpHeaders): Record<string, string> {
  const named = Object.entries(headers).filter(([name]) => name.startsWith(META));
  return Object.fromEntries(named.map(([name, value]) => [name.slice(META.length), String(value)]));
}

function etagOf(bytes: Buffer): string {
  return `"${createHash('md5').update(bytes).digest('hex')}"`;
}

function length(body: Buffer | string | undefined): number {
  return body === undefined ? 0 : Buffer.byteLength(body);
}
