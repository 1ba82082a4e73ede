import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { assets } from '../look/assets';

const EMPTY =
  '<!doctype html><meta charset="utf-8"><style>html,body{margin:0;overflow:hidden}iframe{position:absolute;border:0}</style>';

/** Serves an empty page and the fonts to browsers of this machine, so that all pages of a sheet share what is loaded. */
export class FileServer {
  private constructor(private readonly server: Server) {}

  static async start(): Promise<FileServer> {
    const files = new Map<string, Buffer>();
    const server = createServer((request, response) => {
      const name = (request.url ?? '').replace(/^\/fonts\//, '');
      const path = assets().fontPaths.get(name);
      if (path === undefined) {
        response.writeHead(request.url === '/' ? 200 : 404, { 'content-type': 'text/html' });
        response.end(request.url === '/' ? EMPTY : '');
        return;
      }
      const file = files.get(name) ?? readFileSync(path);
      files.set(name, file);
      response.writeHead(200, { 'content-type': 'font/woff2', 'cache-control': 'max-age=86400, immutable' });
      response.end(file);
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return new FileServer(server);
  }

  /** Address of the empty page. */
  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
