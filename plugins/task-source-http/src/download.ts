import {
  DEADLINES,
  OutsideError,
  OutsideServer,
  outsideText,
  PluginError,
  RETRIES,
  retry,
  type Log,
  type RetryPolicy,
  type ServerStream,
} from '@ui-rl/plugin-kit';
import { VARIABLES, type TaskServers } from './connection';
import { writeList, writeLines } from './page-body';
import type { Spool } from './spool';

/** More pages than any list needs; stops endless pagination. */
const MOST_PAGES = 1_000_000;
const LOG_EVERY_MS = 10_000;
/** Maximum length read from an error response, for display. */
const SHOWN_BYTES = 4_000;

/** A page stored in the spool. */
export interface Page {
  url: string;
  /** How messages name an entry of it. */
  counted: 'line' | 'task';
  /** Number of its first line in the spool, from 1. */
  firstLine: number;
}

export interface DownloadOptions {
  url: URL;
  /** Including quotes; undefined for any version. */
  etag: string | undefined;
  maxBytes: number;
  servers: TaskServers;
  log: Log;
  /** Retries after failures. */
  policy?: RetryPolicy;
  /** Maximum wait for the next bytes. */
  idleMs?: number;
}

/** The server reports that the list has changed since its first page. */
class ListChanged extends Error {}

/** A failure that the next attempt may not have. */
class Transient extends Error {}

/**
 * Downloads a list into a spool, page by page, one task per line.
 *
 * @throws PluginError `option` if a user must change something; Error if the server is unreachable or fails
 */
export async function download(spool: Spool, options: DownloadOptions): Promise<Page[]> {
  const { policy = RETRIES.taskServer, url, log } = options;
  return retry(
    policy,
    async () => {
      await spool.cut(0);
      return new Download(spool, options, policy).all();
    },
    {
      isTransient: (error) => error instanceof ListChanged,
      onFailure: () => log('info', `${url.href}: the list was changed while it was read; it is read anew`),
    },
  );
}

class Download {
  private readonly pages: Page[] = [];
  private readonly seen = new Set<string>();
  private readonly server: OutsideServer;
  private lines = 0;
  private toldAt = Date.now();

  constructor(
    private readonly spool: Spool,
    private readonly options: DownloadOptions,
    private readonly policy: RetryPolicy,
  ) {
    const { servers, url } = options;
    this.server = new OutsideServer(servers.connection(url));
  }

  async all(): Promise<Page[]> {
    for (let url: URL | undefined = this.options.url; url !== undefined;) {
      if (this.seen.has(url.href)) throw refused(`${url.href} is its own next page`);
      if (this.seen.size >= MOST_PAGES)
        throw refused(`${this.options.url.href} has more than ${MOST_PAGES} pages`);
      this.seen.add(url.href);
      url = await this.page(url);
      this.tell();
    }
    return this.pages;
  }

  /** Downloads one page and returns the address of the next one. A failed page is restarted. */
  private page(url: URL): Promise<URL | undefined> {
    const { size } = this.spool;
    const { lines } = this;
    return retry(
      this.policy,
      async () => {
        await this.spool.cut(size);
        this.lines = lines;
        return this.pageOnce(url);
      },
      {
        isTransient: (error) => error instanceof Transient || error instanceof OutsideError,
        onFailure: (error, failures) =>
          this.options.log('warn', `${(error as Error).message}; asked again (${failures})`),
      },
    );
  }

  private async pageOnce(url: URL): Promise<URL | undefined> {
    const { idleMs = DEADLINES.taskServer.ms, etag } = this.options;
    const idle = new IdleTimer(idleMs);
    try {
      const answer = await this.server.stream(url.pathname + url.search, {
        signal: idle.signal,
        headers: {
          accept: 'application/x-ndjson, application/json;q=0.9',
          'accept-encoding': 'identity',
          ...(etag === undefined ? {} : { 'if-match': etag }),
        },
      });
      const body = idle.watched(answer.body);
      if (answer.status !== 200) await this.refuse(url, answer, body);
      this.checkVersion(url, answer);
      const { next } = await this.take(url, answer, body);
      const place = linkedNext(answer) ?? next;
      return place === undefined ? undefined : this.nextOf(url, place);
    } catch (error) {
      // Abort a response that is not read to its end.
      idle.abort();
      throw error;
    } finally {
      idle.stop();
    }
  }

  private async take(
    url: URL,
    { headers }: ServerStream,
    body: AsyncIterable<Buffer>,
  ): Promise<{ next?: string }> {
    const { 'content-type': type = 'nothing', 'content-encoding': encoding = 'identity' } = headers;
    if (encoding !== 'identity')
      throw refused(`${url.href} answered with content-encoding ${encoding}, which was not asked for`);
    const isLines = /^(application|text)\/(x-)?(ndjson|jsonl|jsonlines|json-lines)\b/i.test(type);
    if (!isLines && !/^application\/([\w.+-]+\+)?json\b/i.test(type)) {
      throw refused(
        `${url.href} answered ${outsideText(type, 80)}, expected application/json (a list of tasks, or {tasks, next}) or application/x-ndjson (a task a line)`,
      );
    }
    const target = { url: url.href, spool: this.spool, maxBytes: this.options.maxBytes };
    this.pages.push({ url: url.href, counted: isLines ? 'line' : 'task', firstLine: this.lines + 1 });
    try {
      const { lines, next } = isLines ? await writeLines(body, target) : await writeList(body, target);
      this.lines += lines;
      return next === undefined ? {} : { next };
    } catch (error) {
      this.pages.pop();
      throw error;
    }
  }

  /** @throws an error according to the status of the response */
  private async refuse(
    url: URL,
    { status, headers }: ServerStream,
    body: AsyncIterable<Buffer>,
  ): Promise<never> {
    const said = `${url.href} answered ${status}: ${outsideText(await beginning(body)) || 'nothing more'}`;
    if (status >= 300 && status < 400) {
      const to = outsideText(headers.location ?? 'nowhere', 200);
      throw refused(
        `${url.href} answered ${status} and leads to ${to}, which is not followed: name that address`,
      );
    }
    if (status === 401 || status === 403) {
      const { keys } = VARIABLES;
      const has = this.options.servers.hasKey(url)
        ? `the key of ${keys}`
        : `${keys} has no key for ${url.origin}`;
      throw refused(`${said} (${has})`);
    }
    const { etag } = this.options;
    const isFirst = this.pages.length === 0;
    if (status === 412 && isFirst && etag !== undefined)
      throw refused(`${url.href} is no longer of version ${etag} (etag): ${said}`);
    if ([409, 410, 412].includes(status) && !isFirst) throw new ListChanged(`tasks: ${said}`);
    if (status === 408 || status === 429 || status >= 500) throw new Transient(`tasks: ${said}`);
    throw refused(said);
  }

  private checkVersion(url: URL, { headers: { etag: found } }: ServerStream): void {
    const { etag } = this.options;
    if (etag === undefined || this.pages.length > 0 || found === etag) return;
    throw refused(
      `${url.href} is of version ${outsideText(found ?? 'unknown (no ETag)', 100)}, expected ${etag} (etag)`,
    );
  }

  private nextOf(url: URL, place: string): URL {
    const next = URL.canParse(place, url) ? new URL(place, url) : undefined;
    if (next === undefined || next.origin !== url.origin)
      throw refused(
        `${url.href} names ${outsideText(place, 200)} as its next page, expected an address of ${url.origin}`,
      );
    this.options.servers.refuseOthers(next);
    next.hash = '';
    return next;
  }

  private tell(): void {
    if (Date.now() - this.toldAt < LOG_EVERY_MS) return;
    this.toldAt = Date.now();
    const { url, log } = this.options;
    log('info', `${url.href}: ${this.lines} tasks on ${this.pages.length} pages so far`);
  }
}

/** `Link: <…>; rel="next"` */
export function linkedNext({ headers: { link } }: Pick<ServerStream, 'headers'>): string | undefined {
  const text = Array.isArray(link) ? link.join(', ') : (link ?? '');
  return [...text.matchAll(/<([^<>]*)>([^<]*)/g)].find(([, , rest]) => /;\s*rel="?next"?/i.test(rest))?.[1];
}

async function beginning(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of body) {
    parts.push(part);
    length += part.length;
    if (length >= SHOWN_BYTES) break;
  }
  return Buffer.concat(parts).toString('utf8', 0, SHOWN_BYTES);
}

/** Aborts when the server is silent for too long; time spent processing its data does not count. */
class IdleTimer {
  private readonly silent = new AbortController();
  private timer: NodeJS.Timeout;

  constructor(private readonly ms: number) {
    this.start();
  }

  get signal(): AbortSignal {
    return this.silent.signal;
  }

  async *watched(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const part of body) {
      this.stop();
      yield part;
      this.start();
    }
  }

  abort(): void {
    this.silent.abort();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private start(): void {
    this.timer = setTimeout(() => this.abort(), this.ms);
  }
}

function refused(message: string): PluginError {
  return new PluginError('option', `tasks: ${message}`);
}
