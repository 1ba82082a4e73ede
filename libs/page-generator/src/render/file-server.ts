import { readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PAGE_SCRIPT } from '../live/page-script';
import { assets } from '../look/assets';
import { kitStylesheet } from '../look/kits';

const EMPTY =
  '<!doctype html><meta charset="utf-8"><style>html,body{margin:0;overflow:hidden}iframe{position:absolute;border:0}</style>';

/** Serves an empty page, the fonts, and live pages to local browsers, so that all pages share cached files. */
export class FileServer {
  private readonly fonts = new Map<string, Buffer>();
  private readonly kits = new Map<string, string>();
  private readonly pages = new Map<string, string>();
  private added = 0;

  private constructor(private readonly server: Server) {
    server.on('request', (request, response) => this.answer(request.url ?? '', response));
  }

  static async start(): Promise<FileServer> {
    const server = createServer();
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

  /** Address of a page, until it is removed. */
  add(html: string): string {
    this.added += 1;
    const name = `/pages/${this.added}`;
    this.pages.set(name, html);
    return this.url.slice(0, -1) + name;
  }

  remove(url: string): void {
    this.pages.delete(new URL(url).pathname);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private answer(path: string, response: ServerResponse): void {
    const send = (type: string, body: string | Buffer, keep = false): void => {
      const caching = keep ? 'max-age=86400, immutable' : 'no-store';
      response.writeHead(200, { 'content-type': type, 'cache-control': caching }).end(body);
    };
    const page = path === '/' ? EMPTY : this.pages.get(path);
    const font = path.startsWith('/fonts/') ? this.font(path.slice('/fonts/'.length)) : undefined;
    const kit = path.startsWith('/kits/') ? this.kit(path) : undefined;
    if (page !== undefined) send('text/html', page);
    else if (font !== undefined) send('font/woff2', font, true);
    else if (kit !== undefined) send('text/css', kit, true);
    else if (path === '/page.js') send('text/javascript', PAGE_SCRIPT, true);
    else response.writeHead(404).end();
  }

  private kit(path: string): string | undefined {
    const text = this.kits.get(path) ?? kitStylesheet(path);
    if (text !== undefined) this.kits.set(path, text);
    return text;
  }

  private font(name: string): Buffer | undefined {
    const path = assets().fontPaths.get(name);
    if (path !== undefined && !this.fonts.has(name)) this.fonts.set(name, readFileSync(path));
    return this.fonts.get(name);
  }
}
