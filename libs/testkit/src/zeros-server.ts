import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGzip } from 'node:zlib';

const MIB = 2 ** 20;
const CHUNK = Buffer.alloc(MIB);

/**
 * A server that answers every request with zeros: `/endless` without end, `/bomb` with 4 GiB compressed to 4 MiB by
 * gzip.
 */
export class ZerosServer {
  /** Bytes of the last response, before compression. */
  sentBytes = 0;
  private readonly http: Server;

  private constructor() {
    this.http = createServer((request, response) => {
      const isBomb = request.url?.startsWith('/bomb') === true;
      const left = isBomb ? 4_096 * MIB : Infinity;
      const out = isBomb ? createGzip() : response;
      response.setHeader('content-type', 'application/json');
      if (out !== response) {
        response.setHeader('content-encoding', 'gzip');
        out.pipe(response);
      }
      response.on('close', () => out.destroy());
      this.write(out, left);
    });
  }

  static async start(): Promise<ZerosServer> {
    const server = new ZerosServer();
    await new Promise<void>((resolve) => server.http.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.http.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.http.closeAllConnections();
    await new Promise((resolve) => this.http.close(resolve));
  }

  private write(out: NodeJS.WritableStream & { destroyed?: boolean }, total: number): void {
    this.sentBytes = 0;
    // Fails when the other side closes the connection.
    out.on('error', () => undefined);
    const more = (): void => {
      while (this.sentBytes < total && out.destroyed !== true) {
        this.sentBytes += CHUNK.length;
        if (!out.write(CHUNK)) return void out.once('drain', more);
      }
      if (out.destroyed !== true) out.end();
    };
    more();
  }
}
