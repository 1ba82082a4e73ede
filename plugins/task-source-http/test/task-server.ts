import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Handles a request: with an answer or a fault. */
export type Handler = (request: IncomingMessage, response: ServerResponse, place: URL) => void;

/**
 * A task server as specified in docs/guides/task-files.md: `/tasks` in pages of a given size, as JSON or JSON Lines.
 */
export class TaskServer {
  url = '';
  /** Path, query and credentials of each request. */
  readonly asked: { place: string; key: string | undefined; etag: string | undefined }[] = [];
  /** Handlers for the next requests, used once each. */
  readonly next: Handler[] = [];
  tasks: unknown[] = [];
  version = '"v1"';
  /** Tasks per page; 0 for a single page. */
  size = 0;
  form: 'json' | 'list' | 'lines' = 'json';
  private readonly http: Server;

  private constructor() {
    this.http = createServer((request, response) => this.answer(request, response));
  }

  static async start(): Promise<TaskServer> {
    const server = new TaskServer();
    await new Promise<void>((resolve) => server.http.listen(0, '127.0.0.1', resolve));
    server.url = `http://127.0.0.1:${(server.http.address() as AddressInfo).port}`;
    return server;
  }

  async stop(): Promise<void> {
    this.http.closeAllConnections();
    await new Promise((resolve) => this.http.close(resolve));
  }

  reset(tasks: unknown[]): void {
    Object.assign(this, { tasks, version: '"v1"', size: 0, form: 'json' });
    this.next.length = 0;
    this.asked.length = 0;
  }

  /** Answers a request without faults. */
  serve(request: IncomingMessage, response: ServerResponse, place: URL): void {
    const { tasks, size, form, version } = this;
    const wanted = request.headers['if-match'];
    if (wanted !== undefined && wanted !== version)
      return void response.writeHead(412).end('another version');
    // A cursor is bound to the version of its list.
    const [of, from] = (place.searchParams.get('cursor') ?? `${version}/0`).split('/');
    if (of !== version) return void response.writeHead(410).end('the list has changed');
    const to = size === 0 ? tasks.length : Number(from) + size;
    const page = tasks.slice(Number(from), to);
    const next = to < tasks.length ? `/tasks?cursor=${encodeURIComponent(`${version}/${to}`)}` : null;
    const isLines = form === 'lines';
    response.setHeader('etag', version);
    response.setHeader('content-type', isLines ? 'application/x-ndjson' : 'application/json; charset=utf-8');
    if (form !== 'json' && next !== null)
      response.setHeader('link', `</about>; rel="help", <${next}>; rel="next"`);
    if (isLines) response.end(page.map((task) => JSON.stringify(task)).join('\n'));
    else response.end(JSON.stringify(form === 'list' ? page : { tasks: page, next }));
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const place = new URL(request.url!, this.url);
    const { authorization: key, 'if-match': etag } = request.headers;
    this.asked.push({ place: place.pathname + place.search, key, etag });
    const handler = this.next.shift() ?? this.serve.bind(this);
    handler(request, response, place);
  }
}
