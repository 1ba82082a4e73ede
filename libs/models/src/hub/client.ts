import { AnswerTooLong, boundedFetch, fetchFailure } from '@ui-rl/http';
import { DEADLINES } from '@ui-rl/retry';
import { readOptionalText } from '../json-file';
import { HubError } from './errors';
import type { HubModel } from './name';
import type { HubOptions } from './options';

/** A file of a repository at one commit. */
export interface HubFile {
  path: string;
  sizeBytes: number;
  /** name of its blob in the cache: sha256 of its bytes if it is stored as a large file, else its git blob id */
  blob: string;
}

const MAX_REDIRECTS = 10;
const MAX_JSON_BYTES = 64 * 2 ** 20;
/** Far more than any model has. */
const MAX_FILES = 100_000;
/** The response to a range request beyond the end of the file. */
export const RANGE_NOT_SATISFIABLE = 416;
const redirects = new Set([301, 302, 303, 307, 308]);

/** The path of an address: its query may contain a signature. */
function shown(url: URL): string {
  return `${url.origin}${url.pathname}`;
}

/** Requests to a hub. The token is sent only to the endpoint's origin. */
export class HubClient {
  private readonly origin: string;

  private constructor(
    private readonly options: HubOptions,
    private readonly token: string | undefined,
  ) {
    this.origin = new URL(options.endpoint).origin;
  }

  /** @throws HubError if endpoint or token are malformed. */
  static async create(options: HubOptions): Promise<HubClient> {
    if (!URL.canParse(options.endpoint) || !/^https?:/.test(options.endpoint)) {
      throw new HubError(
        'unusable',
        `HF_ENDPOINT is "${options.endpoint}", expected an address such as https://huggingface.co`,
      );
    }
    return new HubClient(options, await readToken(options));
  }

  /** The commit that a branch, tag or commit stands for. */
  async commitOf({ id, revision }: HubModel): Promise<string> {
    const { sha } = (await this.json(`/api/models/${id}/revision/${encodeURIComponent(revision)}`, id)) as {
      sha?: unknown;
    };
    if (typeof sha === 'string' && /^[0-9a-f]{40}$/.test(sha)) return sha;
    throw new HubError(
      'unusable',
      `${this.origin} gives no commit for ${id}@${revision}: is it a model hub?`,
    );
  }

  /** The top-level files of a repository at one commit, without folders. */
  async files(id: string, commit: string): Promise<HubFile[]> {
    const files: HubFile[] = [];
    let next: string | undefined = `/api/models/${id}/tree/${commit}`;
    while (next !== undefined) {
      const response: Response = await this.get(this.url(next), id);
      const entries = (await readJson(response, shown(this.url(next)))) as Record<string, unknown>[];
      for (const entry of entries) if (entry.type === 'file') files.push(fileOf(entry, id));
      if (files.length > MAX_FILES)
        throw new HubError('unusable', `${id}: the hub lists more than ${MAX_FILES} files`);
      next = nextPage(response);
    }
    return files;
  }

  /**
   * The bytes of a file from `offset` on: status 206, or 200 with the whole file if the server does not support
   * ranges.
   */
  download(id: string, commit: string, path: string, offset: number, signal: AbortSignal): Promise<Response> {
    const range: Record<string, string> = offset === 0 ? {} : { range: `bytes=${offset}-` };
    const url = this.url(`/${id}/resolve/${commit}/${encodeURIComponent(path)}`);
    // Compressed bytes could be neither counted nor resumed.
    return this.get(url, id, { 'accept-encoding': 'identity', ...range }, signal);
  }

  private async json(path: string, id: string): Promise<unknown> {
    return readJson(await this.get(this.url(path), id), shown(this.url(path)));
  }

  private url(path: string): URL {
    return path.startsWith('http')
      ? new URL(path)
      : new URL(`${this.options.endpoint.replace(/\/+$/, '')}${path}`);
  }

  private async get(
    first: URL,
    id: string,
    headers: Record<string, string> = {},
    signal: AbortSignal = this.deadline(),
  ): Promise<Response> {
    let url = first;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      const response = await this.send(url, headers, signal);
      const location = redirects.has(response.status) ? response.headers.get('location') : null;
      if (location === null) return this.checked(response, url, id);
      await response.body?.cancel();
      const target = new URL(location, url);
      if (target.protocol !== url.protocol && target.protocol !== 'https:') {
        throw new HubError('unusable', `${shown(url)} redirects to ${target.protocol}, expected https:`);
      }
      url = target;
    }
    throw new HubError('unreachable', `${shown(first)} redirects more than ${MAX_REDIRECTS} times`);
  }

  private async send(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    const isOwn = url.origin === this.origin;
    const own = isOwn && this.token !== undefined;
    // File downloads are verified against their announced sizes. The environment configures the hub, but not the
    // targets of its redirects.
    const maxBytes = 'accept-encoding' in headers ? Infinity : MAX_JSON_BYTES;
    const authorization: Record<string, string> = own ? { authorization: `Bearer ${this.token}` } : {};
    try {
      return await boundedFetch({ maxBytes, isTrusted: isOwn })(url, {
        redirect: 'manual',
        headers: { 'user-agent': 'ui-rl', ...headers, ...authorization },
        signal,
      });
    } catch (cause) {
      if (this.options.signal?.aborted === true)
        throw new HubError('stopped', 'the download was stopped', { cause });
      throw new HubError('unreachable', `${url.origin} ${reasonOf(cause)}`, { cause });
    }
  }

  private checked(response: Response, url: URL, id: string): Response {
    const { status, headers } = response;
    if (response.ok) return response;
    // Otherwise the connection would stay open.
    void response.body?.cancel().catch(() => undefined);
    const code = headers.get('x-error-code') ?? '';
    const page = `${this.origin}/${id}`;
    if (status === RANGE_NOT_SATISFIABLE) return response;
    if (code === 'GatedRepo') {
      throw new HubError(
        'denied',
        `${page} is gated: accept its conditions there, then ${this.howToLogIn()}`,
      );
    }
    if (status === 404 && code === 'RevisionNotFound') {
      throw new HubError('absent', `${page} has no such revision (${shown(url)})`);
    }
    if (status === 404 && code === 'EntryNotFound') {
      throw new HubError('absent', `${page} has no such file (${shown(url)})`);
    }
    if (status === 401 || status === 404 || code === 'RepoNotFound') {
      // The hub answers 401 both for missing repositories and for those without access.
      const message = `${page} does not exist, or is private or gated: check the name, or ${this.howToLogIn()}`;
      throw new HubError(status === 404 ? 'absent' : 'denied', message);
    }
    if (status === 403) throw new HubError('denied', `${page}: access is denied (403); ${this.howToLogIn()}`);
    const transient = status === 408 || status === 429 || status >= 500;
    throw new HubError(transient ? 'unreachable' : 'unusable', `${shown(url)} answers with status ${status}`);
  }

  private howToLogIn(): string {
    return this.token === undefined
      ? `set HF_TOKEN to a token of an account that may read it (${this.origin}/settings/tokens)`
      : 'use a token (HF_TOKEN) of an account that may read it: the present one may not';
  }

  private deadline(): AbortSignal {
    const { signal, stallMs = DEADLINES.hubStall.ms } = this.options;
    const timeout = AbortSignal.timeout(stallMs);
    return signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  }
}

/** Validates the token before it becomes a header: an error about an invalid header would quote it. */
async function readToken({ token, tokenFile }: HubOptions): Promise<string | undefined> {
  const text = token ?? (tokenFile === undefined ? undefined : await readOptionalText(tokenFile));
  const trimmed = text?.trim() ?? '';
  if (trimmed === '') return undefined;
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed;
  const from = token === undefined ? tokenFile : 'HF_TOKEN';
  throw new HubError('denied', `${from}: is not a token: expected one word of plain characters such as hf_…`);
}

function reasonOf(error: unknown): string {
  return (error as Error).name === 'TimeoutError' ? 'gave no answer in time' : fetchFailure(error);
}

async function readJson(response: Response, what: string): Promise<unknown> {
  try {
    return await response.json();
  } catch (cause) {
    const why = cause instanceof AnswerTooLong ? cause.message : 'the answer is not JSON';
    throw new HubError('unreachable', `${what}: ${why}`, { cause });
  }
}

function fileOf(entry: Record<string, unknown>, id: string): HubFile {
  const { path, size, oid } = entry;
  const lfs = entry.lfs as { oid?: unknown; size?: unknown } | undefined;
  const [blob, bytes] = [lfs?.oid ?? oid, lfs?.size ?? size];
  const plain = typeof path === 'string' && !/[/\\\0]/.test(path) && path !== '.' && path !== '..';
  // Blob names become file names.
  const named = typeof blob === 'string' && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(blob);
  if (plain && named && typeof bytes === 'number') return { path, sizeBytes: bytes, blob };
  throw new HubError(
    'unusable',
    `${id}: the hub lists a file as ${JSON.stringify(entry)}, which makes no sense`,
  );
}

/** The address of a list's next page, from the `Link` header. */
function nextPage(response: Response): string | undefined {
  return /<([^>]+)>;\s*rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
}
