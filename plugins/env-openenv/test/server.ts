import {
  createServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';

type Data = Record<string, unknown>;

/** A fault for the reply to a message type or request path. */
export type Fault = 'dies' | 'hangs' | 'nonsense' | 'no JSON' | 'large' | 'floods' | Data;

/** A row of pixels of one color, as numpy serializes an image. */
export function pixels(width: number, height: number, colour: readonly number[]): number[][][] {
  return Array.from({ length: height }, () => Array.from({ length: width }, () => [...colour]));
}

/**
 * A fake of OpenEnv's own server, with an environment like its BrowserGym: `{action_str}`, screenshots as nested
 * lists, a goal. Clicks in the left half of the screen are rewarded; the third action ends the episode. Over HTTP it
 * creates an environment per request.
 */
export class FakeOpenEnv {
  url = '';
  /** Received actions. */
  readonly actions: Data[] = [];
  readonly resets: Data[] = [];
  faults: Record<string, Fault> = {};
  action: Data = { type: 'object', properties: { action_str: { type: 'string' }, metadata: {} } };
  observe: (step: number) => Data = (step) => ({
    screenshot: pixels(32, 24, [step * 20, 100, 200]),
    goal: 'Click the left half',
    text: 'a page',
    last_action_error: false,
  });
  /** Open sockets. */
  get open(): number {
    return this.sockets.clients.size;
  }
  private readonly http: HttpServer;
  private readonly sockets = new WebSocketServer({ noServer: true });

  private constructor() {
    this.http = createServer((request, response) => this.answer(request, response));
    this.http.on('upgrade', (request, socket, head) => {
      this.sockets.handleUpgrade(request, socket, head, (client) => this.play(client));
    });
  }

  static async start(): Promise<FakeOpenEnv> {
    const server = new FakeOpenEnv();
    await new Promise<void>((resolve) => server.http.listen(0, '127.0.0.1', resolve));
    server.url = `http://127.0.0.1:${(server.http.address() as AddressInfo).port}`;
    return server;
  }

  async stop(): Promise<void> {
    for (const client of this.sockets.clients) client.terminate();
    this.http.closeAllConnections();
    await new Promise((resolve) => this.http.close(resolve));
  }

  private play(client: WebSocket): void {
    let step = 0;
    let reward = 0;
    const send = (type: string, data: Data) => client.send(JSON.stringify({ type, data }));
    client.on('message', (raw: Buffer) => {
      const { type, data = {} } = JSON.parse(raw.toString()) as { type: string; data?: Data };
      const fault = this.faults[type];
      if (type === 'step') this.actions.push(data);
      if (type === 'close') return client.close();
      if (fault !== undefined) return failSocket(fault, client);
      if (type === 'state') return send('state', { episode_id: 'e', step_count: step, cum_reward: reward });
      if (type === 'reset') {
        this.resets.push(data);
        [step, reward] = [0, 0];
      } else {
        step += 1;
      }
      const [, x] = /^mouse_click\((\d+)/.exec(String(data.action_str)) ?? [];
      const paid = x !== undefined && Number(x) < 16 ? 0.5 : 0;
      reward += paid;
      return send('observation', { observation: this.observe(step), reward: paid, done: step >= 3 });
    });
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname } = new URL(request.url!, 'http://server');
    const fault = this.faults[pathname];
    if (fault === 'dies') return void response.destroy();
    if (fault === 'hangs') return;
    const answers: Record<string, () => unknown> = {
      '/health': () => ({ status: 'healthy' }),
      '/schema': () => ({ action: this.action, observation: {}, state: {} }),
      '/reset': () => ({ observation: this.observe(0), reward: null, done: false }),
      '/state': () => ({ episode_id: String(Math.random()), step_count: 0 }),
    };
    const found = typeof fault === 'object' ? fault : answers[pathname]?.();
    response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(
      fault === 'no JSON' ? '<h1>It works!</h1>' : JSON.stringify(found ?? { detail: 'Not Found' }),
    );
  }
}

function failSocket(fault: Fault, client: WebSocket): void {
  if (fault === 'floods') return flood(client);
  if (fault === 'hangs') return;
  if (fault === 'dies') client.terminate();
  else if (fault === 'nonsense') client.send('{"type":"observation","data":{"observation":7}}');
  else if (fault === 'no JSON') client.send('<h1>It works!</h1>');
  else if (fault === 'large') client.send(Buffer.alloc(2 * 2 ** 20, 'x').toString());
  else client.send(JSON.stringify(fault));
}

/** Sends observations endlessly, as fast as they are read. */
function flood(client: WebSocket): void {
  const message = JSON.stringify({
    type: 'observation',
    data: { observation: { text: 'x'.repeat(1_000) }, reward: 0, done: false },
  });
  const more = (): void => {
    if (client.readyState === client.OPEN) client.send(message, () => setImmediate(more));
  };
  more();
}
