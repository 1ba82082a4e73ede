import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isSameSecret } from '@ui-rl/http';
import { TryFailure } from './failure';
import type { LiveView } from './view';

/** Handles the person's input on the live page. Throws a `TryFailure` for input that cannot be performed. */
export interface LiveHandlers {
  act(action: unknown): void;
  undo(): void;
  done(): void;
  /** @param ids of proposals */
  choose(ids: readonly number[]): void;
}

export interface LivePageOptions {
  live: LiveView;
  handlers: LiveHandlers;
  /** Folder of the built page. Default: that of this project. */
  webDir?: string | undefined;
  /** 0, the default, takes any free port. */
  port?: number | undefined;
}

const PAGE = 'try.html';
const LINGER_MS = 500;
const MAX_BODY = 64 * 1024;
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};
const HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};
const LOOPBACK_NAME = /^(127\.0\.0\.1|localhost)(:\d+)?$/;

/** Shows an episode live on loopback. Its address contains a random token as access control. */
export class LivePage {
  private readonly token = randomBytes(24).toString('base64url');
  private readonly streams = new Set<ServerResponse>();

  private constructor(
    private readonly options: LivePageOptions,
    private readonly server: Server,
    private readonly webDir: string,
  ) {}

  /** @throws TryFailure if the page was not built */
  static async open(options: LivePageOptions): Promise<LivePage> {
    const webDir = options.webDir ?? builtPage();
    if (!existsSync(join(webDir, PAGE)))
      throw new TryFailure(
        `the live page is not built: there is no ${join(webDir, PAGE)}; npm run build makes it`,
      );
    const server = createServer();
    const page = new LivePage(options, server, webDir);
    server.on('request', (request, response) => {
      page.answer(request, response).catch(() => response.destroy());
    });
    await new Promise<void>((done, fail) => {
      server.once('error', fail);
      server.listen(options.port ?? 0, '127.0.0.1', done);
    });
    options.live.on('change', page.tell);
    return page;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/${this.token}/`;
  }

  /** Sends the final state and screenshot to all viewers first. */
  async close(): Promise<void> {
    this.options.live.off('change', this.tell);
    if (this.streams.size > 0) await sleep(LINGER_MS);
    for (const stream of this.streams) stream.end();
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  private readonly tell = (): void => {
    for (const stream of this.streams) this.send(stream);
  };

  private send(stream: ServerResponse): void {
    stream.write(`event: view\ndata: ${JSON.stringify(this.options.live.view)}\n\n`);
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    const [, token = '', ...rest] = (request.url ?? '').replace(/\?.*$/, '').split('/');
    // DNS rebinding: a foreign host name may resolve to this address.
    if (!LOOPBACK_NAME.test(request.headers.host ?? '') || !isSameSecret(token, this.token))
      return refuse(response, 404, 'nothing is here');
    const path = rest.join('/');
    if (request.method === 'POST') return this.take(path, request, response);
    if (path === 'events') return this.follow(response);
    if (path.startsWith('screenshots/'))
      return this.sendScreenshot(path.slice('screenshots/'.length), response);
    return this.sendFile(path === '' ? PAGE : path, response);
  }

  private follow(response: ServerResponse): void {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    this.streams.add(response);
    response.on('close', () => this.streams.delete(response));
    this.send(response);
  }

  private sendScreenshot(sha256: string, response: ServerResponse): void {
    const png = this.options.live.png(sha256);
    if (png === undefined) return refuse(response, 404, 'there is no such screenshot');
    response
      .writeHead(200, { 'Content-Type': 'image/png', 'Cache-Control': 'private, max-age=3600, immutable' })
      .end(png);
  }

  private async sendFile(path: string, response: ServerResponse): Promise<void> {
    const type = TYPES[extname(path)];
    const isBuilt = path === PAGE || /^assets\/[\w.-]+$/.test(path);
    const body =
      isBuilt && type !== undefined ? await readFile(join(this.webDir, path)).catch(() => null) : null;
    if (body === null) return refuse(response, 404, 'nothing is here');
    response.writeHead(200, { 'Content-Type': type }).end(body);
  }

  private async take(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    // CSRF: forms of other sites can send text, but not JSON.
    if (!/^application\/json\b/.test(request.headers['content-type'] ?? ''))
      return refuse(response, 415, 'expected JSON');
    const body = await bodyOf(request);
    if (body === undefined) return refuse(response, 400, 'expected an object as JSON');
    try {
      this.handle(path, body);
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
    } catch (error) {
      if (!(error instanceof TryFailure)) throw error;
      refuse(response, 409, error.message);
    }
  }

  private handle(path: string, body: Readonly<Record<string, unknown>>): void {
    const { handlers } = this.options;
    if (path === 'action') return handlers.act(body.action);
    if (path === 'undo') return handlers.undo();
    if (path === 'done') return handlers.done();
    if (path === 'checks' && Array.isArray(body.ids)) return handlers.choose(body.ids.map(Number));
    throw new TryFailure(`nothing is done at ${path}`);
  }
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify({ message }));
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown> | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_BODY) return undefined;
    parts.push(part);
  }
  try {
    const body: unknown = JSON.parse(Buffer.concat(parts).toString('utf8'));
    return typeof body === 'object' && body !== null && !Array.isArray(body) ? { ...body } : undefined;
  } catch {
    return undefined;
  }
}

/** `dist/monitor-web`, relative to both the sources and the compiled tree. */
function builtPage(): string {
  const candidates = ['../../../monitor-web', '../../../dist/monitor-web'].map((path) =>
    resolve(__dirname, path),
  );
  return candidates.find((folder) => existsSync(join(folder, PAGE))) ?? candidates[0];
}
