import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Forwards requests, and drops the first answer to each that starts an operation: a retry must not execute it twice.
 */
export class FlakyProxy {
  /** Paths whose answers were dropped. */
  readonly lost: string[] = [];
  private readonly seen = new Set<string>();
  private readonly server = createServer((incoming, response) => void this.pass(incoming, response));

  private constructor(private readonly target: () => string) {}

  /** @param target returns the current destination */
  static async start(target: () => string): Promise<FlakyProxy> {
    const proxy = new FlakyProxy(target);
    await new Promise<void>((resolve) => proxy.server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async pass(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part as Buffer);
    const body = Buffer.concat(parts);
    const { url = '', method = 'GET' } = incoming;
    const { host: _host, ...headers } = incoming.headers;
    const key = `${url} ${body.toString('latin1')}`;
    const isFirst = method === 'POST' && !this.seen.has(key) && !/retrieve_future|heartbeat/.test(url);
    this.seen.add(key);
    const sent = request(`${this.target()}${url}`, { method, headers });
    sent.on('response', (answer) => {
      if (isFirst) {
        this.lost.push(url);
        answer.resume().on('end', () => incoming.socket.destroy());
        return;
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    sent.on('error', () => incoming.socket.destroy());
    sent.end(body);
  }
}
