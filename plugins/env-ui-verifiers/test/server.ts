import {
  createServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { crc32, deflateSync } from 'node:zlib';

const SCREEN = { width: 1280, height: 800 };
const ACTIONS = [
  'mouse_move',
  'left_click',
  'right_click',
  'double_click',
  'triple_click',
  'type',
  'keys',
  'scroll',
  'screenshot',
];

/** A PNG of one gray. */
export function greyPng({ width, height }: { width: number; height: number }, grey = 128): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const around = [Buffer.alloc(4), Buffer.alloc(4)];
    around[0].writeUInt32BE(data.length);
    around[1].writeUInt32BE(crc32(body));
    return Buffer.concat([around[0], body, around[1]]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8;
  const rows = Buffer.alloc((width + 1) * height, grey);
  for (let y = 0; y < height; y += 1) rows[y * (width + 1)] = 0;
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** A fault for a reply. */
export type Fault = 'dies' | 'hangs' | 'nonsense' | 'large' | 'breaks off' | 'redirects' | 500;

interface Session {
  submitted: number[];
  incorrect: number;
  open: boolean;
}

/**
 * A fake of ui-verifiers' simple data entry in its three forms: one session, the same behind a proxy
 * (`/proxy/{session}/…`), and the older server with many sessions. Typing a row number submits that row; other text
 * is a wrong submission.
 */
export class FakeUiVerifiers {
  url = '';
  /** Start time of the single session or of those behind the proxy; a restart changes it. */
  startedAt = '2026-01-01 00:00:00';
  /** Requests, without reachability checks. */
  readonly asked: string[] = [];
  readonly authorizations = new Set<string | undefined>();
  readonly sessions = new Map<string, Session>();
  /**
   * For policies that do not type numbers: a click submits the row of its 64-pixel column, and in every other column
   * a wrong one.
   */
  clicksSubmit = false;
  /** Final path, such as `/act` → fault. */
  faults: Record<string, Fault> = {};
  private readonly http: HttpServer;

  private constructor(private readonly form: 'one' | 'proxy' | 'many') {
    this.http = createServer((request, response) => this.answer(request, response));
  }

  static async start(form: 'one' | 'proxy' | 'many'): Promise<FakeUiVerifiers> {
    const server = new FakeUiVerifiers(form);
    await new Promise<void>((resolve) => server.http.listen(0, '127.0.0.1', resolve));
    server.url = `http://127.0.0.1:${(server.http.address() as AddressInfo).port}`;
    return server;
  }

  async stop(): Promise<void> {
    this.http.closeAllConnections();
    await new Promise((resolve) => this.http.close(resolve));
  }

  /** The only session, or one behind the proxy. */
  session(id = 'only'): Session {
    const known = this.sessions.get(id) ?? { submitted: [], incorrect: 0, open: true };
    this.sessions.set(id, known);
    return known;
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    this.authorizations.add(request.headers.authorization);
    const url = new URL(request.url ?? '/', 'http://server');
    const [session, path] = this.route(url.pathname);
    const fault = this.faults[path];
    if (path !== '/' && path !== '/status') this.asked.push(`${request.method} ${url.pathname}${url.search}`);
    if (fault !== undefined) return fail(fault, response);
    if (path === '/session' && request.method === 'POST') return this.open(url, response);
    if (path === '/status' && this.form === 'many') return send(response, 200, {});
    if (path === '/' && request.method === 'DELETE' && session?.open === true) {
      session.open = false;
      return send(response, 200, { deleted: 1 });
    }
    if (path === '/' && request.method === 'GET') return this.greet(response);
    if (session === undefined || !session.open) return send(response, 404, { detail: 'Not Found' });
    if (path === '/progress') {
      const { submitted, incorrect } = session;
      return send(response, 200, {
        submitted_row_indices: submitted,
        num_incorrect_submissions: incorrect,
      });
    }
    if (path === '/screenshot' && this.form === 'many') return sendScreen(response, session);
    if (path === '/act') {
      const x = Number(url.searchParams.get('x'));
      if (this.clicksSubmit && url.searchParams.get('action_type') === 'left_click')
        submit(Math.floor(x / 64), session);
      return act(url.searchParams, session, response);
    }
    return send(response, 404, { detail: 'Not Found' });
  }

  /** The session of a path, and the remaining path. */
  private route(path: string): [Session | undefined, string] {
    const below = this.form === 'many' ? 'session' : 'proxy';
    if (this.form === 'one') return [this.session(), path];
    const [, id, rest] = new RegExp(`^/${below}/([^/]+)(/.*)?$`).exec(path) ?? [];
    if (id === undefined) return [undefined, path];
    return [this.form === 'proxy' ? this.session(id) : this.sessions.get(id), rest ?? '/'];
  }

  private open(url: URL, response: ServerResponse): void {
    if (url.searchParams.get('type') !== 'simple_data_entry') return send(response, 422, { detail: 'type' });
    const id = String(this.sessions.size + 1);
    this.session(id);
    return send(response, 200, { session_ids: [Number(id)] });
  }

  private greet(response: ServerResponse): void {
    const lines = [
      'UI Verifiers Session Server',
      'Session Type: Simple Data Entry',
      `Start time: ${this.startedAt}`,
      'Duration: 0:00:01',
    ];
    response.setHeader('content-type', 'text/plain').end(`${lines.join('\n')}\n`);
  }
}

function submit(column: number, session: Session): void {
  if (column % 2 === 0) session.submitted.push(column);
  else session.incorrect += 1;
}

function act(query: URLSearchParams, session: Session, response: ServerResponse): void {
  const type = query.get('action_type') ?? '';
  const misses = (name: string) => !query.has(name) || query.get(name) === '';
  if (!ACTIONS.includes(type)) return send(response, 422, { detail: [{ loc: ['query', 'action_type'] }] });
  // The original crashes if a coordinate is missing.
  if (/click|move/.test(type) && (misses('x') || misses('y'))) return send(response, 500, 'KeyError: x');
  if (type === 'type') {
    const row = Number(query.get('text'));
    if (Number.isInteger(row)) session.submitted.push(row);
    else session.incorrect += 1;
  }
  return sendScreen(response, session);
}

function sendScreen(response: ServerResponse, { submitted }: Session): void {
  response.setHeader('content-type', 'image/png').end(greyPng(SCREEN, submitted.length));
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function fail(fault: Fault, response: ServerResponse): void {
  switch (fault) {
    case 'hangs':
      return;
    case 'dies':
      response.destroy();
      return;
    case 'nonsense':
      response.setHeader('content-type', 'text/html').end('<h1>It works!</h1>');
      return;
    case 'large':
      response.setHeader('content-type', 'image/png').end(Buffer.alloc(3 * 2 ** 20, 1));
      return;
    case 'breaks off': {
      const png = greyPng(SCREEN);
      response.setHeader('content-type', 'image/png').end(png.subarray(0, png.length - 20));
      return;
    }
    case 'redirects':
      response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
      return;
    case 500:
      send(response, 500, { detail: 'Failed to move mouse' });
  }
}
