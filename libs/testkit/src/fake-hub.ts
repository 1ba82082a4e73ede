import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A model repository of a {@link FakeHub}. */
export interface FakeRepository {
  files: Record<string, Uint8Array | string>;
  /** branches and tags; `main` is the newest commit */
  revisions?: Record<string, string>;
  /** token that may read the files of a gated repository; anyone may list it */
  gatedFor?: string;
  /** token that may see the repository */
  privateFor?: string;
}

export interface HubRequest {
  server: 'hub' | 'storage';
  path: string;
  range: string | undefined;
  authorization: string | undefined;
}

/** Files of at least this size are stored on the storage server. */
const LARGE_BYTES = 1_000;
const PAGE = 3;
const SIGNATURE = 'signature=of-the-address';

/**
 * A fake model hub, and a storage server on another port to which it redirects: revisions, paginated file lists,
 * redirects, ranges, errors. Can cut connections and return errors.
 */
export class FakeHub {
  readonly requests: HubRequest[] = [];
  /** the next storage responses are cut off after this many bytes */
  cuts: number[] = [];
  /** status codes of the next responses of either server */
  failures: number[] = [];
  /** the storage server ignores range requests */
  ignoresRanges = false;
  /** the storage server sends bytes that differ from the hub's digests */
  damages = false;
  /** delay before each response of the storage server */
  delayMs = 0;

  private readonly repositories = new Map<string, FakeRepository & { commit: string }>();
  private readonly waiting = new Set<NodeJS.Timeout>();
  private readonly hub: Server;
  private readonly storage: Server;

  private constructor() {
    this.hub = createServer((request, response) => this.answer('hub', request, response));
    this.storage = createServer((request, response) => this.answer('storage', request, response));
  }

  static async start(): Promise<FakeHub> {
    const fake = new FakeHub();
    for (const server of [fake.hub, fake.storage]) {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    }
    return fake;
  }

  get endpoint(): string {
    return address(this.hub);
  }

  /** Adds a repository, or a new commit to it; returns the commit id. */
  put(id: string, repository: FakeRepository): string {
    const commit = createHash('sha1')
      .update(
        JSON.stringify([
          id,
          Object.entries(repository.files).map(([path, content]) => [path, blobOf(content).oid]),
        ]),
      )
      .digest('hex');
    this.repositories.set(id, { ...repository, commit });
    return commit;
  }

  /** Range requests of large files, by path. */
  downloads(path: string): HubRequest[] {
    return this.requests.filter(
      (request) => request.server === 'storage' && request.path.includes(`/${path}?`),
    );
  }

  async stop(): Promise<void> {
    for (const timer of this.waiting) clearTimeout(timer);
    for (const server of [this.hub, this.storage]) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }

  private answer(server: 'hub' | 'storage', request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '';
    const { range, authorization } = request.headers;
    this.requests.push({ server, path, range, authorization });
    const failure = this.failures.shift();
    if (failure !== undefined) return refuse(response, failure);
    if (server === 'storage') {
      const timer = setTimeout(() => {
        this.waiting.delete(timer);
        this.store(path, range, authorization, response);
      }, this.delayMs);
      this.waiting.add(timer);
      return;
    }
    this.answerHub(path, authorization, range, response);
  }

  private answerHub(
    path: string,
    authorization: string | undefined,
    range: string | undefined,
    response: ServerResponse,
  ): void {
    const url = new URL(path, this.endpoint);
    const api = /^\/api\/models\/([^/]+\/[^/]+)\/(revision|tree)\/([^/]+)$/.exec(url.pathname);
    const file = /^\/(?:api\/resolve-cache\/models\/)?([^/]+\/[^/]+?)\/(?:resolve\/)?([^/]+)\/([^/]+)$/.exec(
      url.pathname,
    );
    const [, id, ...rest] = api ?? file ?? [];
    const repository = id === undefined ? undefined : this.repositories.get(id);
    const { privateFor } = repository ?? {};
    if (repository === undefined || (privateFor !== undefined && authorization !== `Bearer ${privateFor}`)) {
      return refuse(response, authorization === undefined ? 401 : 404, 'RepoNotFound');
    }
    if (api !== null) return this.answerApi(id, repository, rest, url, response);
    return this.answerFile(
      id,
      repository,
      decodeURIComponent(rest[1]),
      { url, authorization, range },
      response,
    );
  }

  private answerApi(
    id: string,
    repository: FakeRepository & { commit: string },
    [kind, revision]: string[],
    url: URL,
    response: ServerResponse,
  ): void {
    const named = decodeURIComponent(revision);
    const known = {
      main: repository.commit,
      [repository.commit]: repository.commit,
      ...repository.revisions,
    };
    if (!(named in known)) return refuse(response, 404, 'RevisionNotFound');
    if (kind === 'revision') return send(response, { id, sha: known[named], siblings: [] });
    const entries = Object.entries(repository.files).map(([path, content]) => {
      const { oid, size, sha256 } = blobOf(content);
      const lfs = size >= LARGE_BYTES ? { lfs: { oid: sha256, size, pointerSize: 134 } } : {};
      return { type: 'file', oid, size, path, ...lfs };
    });
    const all = [{ type: 'directory', oid: '0'.repeat(40), size: 0, path: 'folder' }, ...entries];
    const from = Number(url.searchParams.get('cursor') ?? 0);
    if (from + PAGE < all.length) {
      response.setHeader('link', `<${this.endpoint}${url.pathname}?cursor=${from + PAGE}>; rel="next"`);
    }
    send(response, all.slice(from, from + PAGE));
  }

  private answerFile(
    id: string,
    { files, commit, gatedFor }: FakeRepository & { commit: string },
    path: string,
    { url, authorization, range }: { url: URL; authorization: string | undefined; range: string | undefined },
    response: ServerResponse,
  ): void {
    if (gatedFor !== undefined && authorization !== `Bearer ${gatedFor}`) {
      return refuse(response, authorization === undefined ? 401 : 403, 'GatedRepo');
    }
    if (!(path in files)) return refuse(response, 404, 'EntryNotFound');
    const { oid, sha256, bytes, size } = blobOf(files[path]);
    response.setHeader('x-repo-commit', commit);
    if (size >= LARGE_BYTES) {
      response.setHeader('x-linked-etag', `"${sha256}"`);
      response.setHeader('x-linked-size', String(size));
      return redirect(response, 302, `${address(this.storage)}/${id}/${path}?${SIGNATURE}`);
    }
    response.setHeader('etag', `"${oid}"`);
    if (url.pathname.includes('/resolve/')) {
      return redirect(response, 307, `/api/resolve-cache/models/${id}/${commit}/${encodeURIComponent(path)}`);
    }
    sendPart(response, bytes, range);
  }

  private store(
    path: string,
    range: string | undefined,
    authorization: string | undefined,
    response: ServerResponse,
  ): void {
    const { pathname, search } = new URL(path, this.endpoint);
    const [, organisation, name, file] = pathname.split('/');
    const content = this.repositories.get(`${organisation}/${name}`)?.files[decodeURIComponent(file)];
    // Object stores reject a second kind of authorization.
    if (authorization !== undefined) return refuse(response, 400);
    if (content === undefined || search !== `?${SIGNATURE}`) return refuse(response, 403);
    const bytes = Buffer.from(blobOf(content).bytes);
    if (this.damages) bytes[0] ^= 1;
    sendPart(response, bytes, this.ignoresRanges ? undefined : range, this.cuts.shift());
  }
}

function address(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function blobOf(content: Uint8Array | string): { bytes: Buffer; size: number; oid: string; sha256: string } {
  const bytes = Buffer.from(content);
  const oid = createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
  return { bytes, size: bytes.length, oid, sha256: createHash('sha256').update(bytes).digest('hex') };
}

function send(response: ServerResponse, json: unknown): void {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(json));
}

function refuse(response: ServerResponse, status: number, code?: string): void {
  response.statusCode = status;
  if (code !== undefined) response.setHeader('x-error-code', code);
  send(response, { error: code ?? 'refused' });
}

function redirect(response: ServerResponse, status: number, location: string): void {
  response.statusCode = status;
  response.setHeader('location', location);
  response.end();
}

function sendPart(
  response: ServerResponse,
  bytes: Buffer,
  range: string | undefined,
  cutAfter?: number,
): void {
  const from = Number(/^bytes=(\d+)-/.exec(range ?? '')?.[1] ?? 0);
  if (from > 0 && from >= bytes.length) return refuse(response, 416);
  const part = bytes.subarray(from);
  if (from > 0) {
    response.statusCode = 206;
    response.setHeader('content-range', `bytes ${from}-${bytes.length - 1}/${bytes.length}`);
  }
  response.setHeader('content-length', part.length);
  if (cutAfter === undefined) {
    response.end(part);
    return;
  }
  response.write(part.subarray(0, cutAfter), () => setTimeout(() => response.destroy(), CUT_DELAY_MS));
}

/** Time to flush written data before the connection is cut. */
const CUT_DELAY_MS = 50;
