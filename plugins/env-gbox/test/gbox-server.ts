import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { FakePhone } from '@ui-rl/testkit';

export interface FakeBox {
  id: string;
  type: 'android' | 'linux';
  status: 'pending' | 'running' | 'stopped' | 'error' | 'terminated';
  expiresAt: string;
  config: { labels: Record<string, string>; expiresIn?: string; deviceType?: string };
  phone: FakePhone;
}

/**
 * A fault for the next request whose path matches: a status with a body, or its connection is cut before or after
 * execution.
 */
export interface Fault {
  path: RegExp;
  fault: { status: number; body?: string } | 'cut' | 'done and cut' | 'never answered';
}

type Body = Record<string, unknown>;
const KEY = 'gbox_test_key_0123456789';

/**
 * A fake of GBox's API as documented, with small fake phones as boxes. Rejects malformed requests with 400: wrong
 * types, unknown actions, a missing key. Source: docs.gbox.ai/api-reference.
 */
export class GboxServer {
  readonly key = KEY;
  readonly boxes: FakeBox[] = [];
  /** Executed calls such as `POST /boxes/{id}/actions/tap`, without the id, with their bodies. */
  readonly done: { call: string; body: Body }[] = [];
  readonly requests: string[] = [];
  faults: Fault[] = [];
  /** New boxes are pending for this many queries. */
  pendingLooks = 0;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<GboxServer> {
    const server = createServer();
    const gbox = new GboxServer(server);
    server.on('request', (request, response) => void gbox.answer(request, response));
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    return gbox;
  }

  get variables(): Record<string, string> {
    const { port } = this.server.address() as AddressInfo;
    return { GBOX_API_KEY: KEY, GBOX_BASE_URL: `http://127.0.0.1:${port}/api/v1` };
  }

  get running(): FakeBox[] {
    return this.boxes.filter(({ status }) => status === 'running');
  }

  add(box: Partial<FakeBox> & { labels?: Record<string, string> }): FakeBox {
    const { labels = {}, ...rest } = box;
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const whole: FakeBox = {
      id: randomUUID(),
      type: 'android',
      status: 'running',
      expiresAt,
      config: { labels },
      phone: new FakePhone(),
      ...rest,
    };
    this.boxes.push(whole);
    return whole;
  }

  /** Bodies of the executed calls. */
  calls(call: string): Body[] {
    return this.done.filter((each) => each.call === call).map(({ body }) => body);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((stopped) => this.server.close(stopped));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = (request.url ?? '').replace('/api/v1', '');
    this.requests.push(`${request.method} ${path}`);
    const at = this.faults.findIndex((fault) => fault.path.test(`${request.method} ${path}`));
    const fault = at < 0 ? undefined : this.faults.splice(at, 1)[0].fault;
    if (fault === 'never answered') return;
    if (fault === 'cut') return void response.destroy();
    if (typeof fault === 'object') return send(response, fault.status, fault.body ?? '{"message":"as told"}');
    if (request.headers.authorization !== `Bearer ${KEY}`) {
      return send(
        response,
        401,
        JSON.stringify({ message: `no such key: ${request.headers.authorization}` }),
      );
    }
    const text = Buffer.concat(chunks).toString('utf8');
    const body = text === '' ? {} : (JSON.parse(text) as Body);
    const [status, reply] = await this.handle(`${request.method} ${path}`, body);
    if (fault === 'done and cut') return void response.destroy();
    send(response, status, JSON.stringify(reply));
  }

  private async handle(call: string, body: Body): Promise<[number, unknown]> {
    const create = /^POST \/boxes\/(android|linux)$/.exec(call);
    if (create !== null) return this.create(create[1] as FakeBox['type'], body);
    if (call.startsWith('GET /boxes?')) return [200, this.list(new URLSearchParams(call.split('?')[1]))];
    const [, method, id, rest] = /^(GET|POST) \/boxes\/([^/]+)(\/.+)?$/.exec(call) ?? [];
    const box = this.boxes.find((each) => each.id === id);
    if (box === undefined) return [404, { message: `no box ${id}` }];
    if (method === 'GET') return [200, this.look(box)];
    if (rest === '/terminate') box.status = 'terminated';
    else if (rest === '/stop') box.status = 'stopped';
    else if (rest === '/start') box.status = 'running';
    else if (box.status !== 'running') return [409, { message: `box ${id} is ${box.status}` }];
    else return this.work(box, rest, body);
    this.done.push({ call: rest, body });
    return [200, this.look(box)];
  }

  private create(type: FakeBox['type'], body: Body): [number, unknown] {
    const { labels, expiresIn } = body.config as { labels?: Record<string, string>; expiresIn?: string };
    if (body.wait !== true || labels === undefined || !/^\d+(ms|s|m|h)$/.test(expiresIn ?? '')) {
      return [400, { message: 'expected wait, config.labels and config.expiresIn' }];
    }
    const status = this.pendingLooks > 0 ? 'pending' : 'running';
    const box = this.add({ type, status, config: body.config as FakeBox['config'] });
    this.done.push({ call: `/${type}`, body });
    return [201, this.look(box)];
  }

  private look(box: FakeBox): unknown {
    if (box.status === 'pending' && this.pendingLooks-- <= 1) box.status = 'running';
    const { phone: _, ...shown } = box;
    return shown;
  }

  private list(query: URLSearchParams): unknown {
    const statuses = (query.get('status') ?? '').split(',');
    const wanted = [...query].flatMap(([name, value]) => {
      const [, label] = /^labels\[(.+)\]$/.exec(name) ?? [];
      return label === undefined ? [] : [[label, value]];
    });
    const data = this.boxes.filter(
      ({ status, config }) =>
        statuses.includes(status) && wanted.every(([label, value]) => config.labels[label] === value),
    );
    return { data: data.map((box) => this.look(box)), page: 1, pageSize: 100, total: data.length };
  }

  private async work(box: FakeBox, rest: string, body: Body): Promise<[number, unknown]> {
    if (rest === '/commands') {
      if (typeof body.command !== 'string') return [400, { message: 'expected command' }];
      this.done.push({ call: rest, body });
      const { exitCode, stdout, stderr } = await box.phone.run(body.command);
      return [200, { exitCode, stdout: stdout.toString(), stderr: stderr.toString() }];
    }
    if (rest === '/actions/screenshot') {
      return [200, { uri: `data:image/png;base64,${box.phone.screenshot().toString('base64')}` }];
    }
    const form = FORMS[rest];
    if (form === undefined || !form(body))
      return [400, { message: `${rest} is not given ${JSON.stringify(body)}` }];
    this.done.push({ call: rest, body });
    if (rest === '/actions/tap') await box.phone.run(`input tap ${String(body.x)} ${String(body.y)}`);
    if (rest === '/actions/type')
      box.phone.typed += String(body.text) + (body.pressEnter === true ? '\n' : '');
    return [201, { actionId: randomUUID(), message: 'done' }];
  }
}

const number = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value);
const isPlace = (value: unknown): boolean => {
  const { x, y } = (value ?? {}) as { x?: unknown; y?: unknown };
  return number(x) && number(y);
};
const lasts = (value: unknown): boolean => typeof value === 'string' && /^\d+(ms|s)$/.test(value);

/** Validates the body of each action. */
const FORMS: Readonly<Record<string, (body: Body) => boolean>> = {
  '/actions/tap': isPlace,
  '/actions/click': isPlace,
  '/actions/move': isPlace,
  '/actions/long-press': (body) => isPlace(body) && lasts(body.duration),
  '/actions/drag': ({ start, end, path }) =>
    Array.isArray(path) ? path.every(isPlace) : isPlace(start) && isPlace(end),
  '/actions/swipe': ({ start, end }) => isPlace(start) && isPlace(end),
  '/actions/scroll': (body) => isPlace(body) && number(body.scrollX) && number(body.scrollY),
  '/actions/type': ({ text, mode }) => typeof text === 'string' && mode === 'append',
  '/actions/press-key': ({ keys }) => Array.isArray(keys) && keys.length > 0,
  '/actions/press-button': ({ buttons }) => Array.isArray(buttons) && buttons.length > 0,
};

function send(response: ServerResponse, status: number, body: string): void {
  response
    .writeHead(status, { 'content-type': 'application/json', location: 'http://127.0.0.1:9/' })
    .end(body);
}
