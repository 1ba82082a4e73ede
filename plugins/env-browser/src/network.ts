import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { join, normalize } from 'node:path';
import type { BrowserContext, BrowserContextOptions, Page, Request, Route } from 'playwright';
import { NOWHERE } from './chromium-arguments';
import { contentTypeOf } from './content-types';
import { Gateway } from './gateway';
import type { PageRules, PageSpec } from './page-spec';
import type { PageRequest } from './request-tally';

/**
 * An empty document of each local origin: a tab that waits there keeps the process and compiled code of its last
 * page.
 */
export const EMPTY_DOCUMENT = '/.uirl-empty';
/** Declares an icon, so that the browser does not request one. */
const EMPTY = '<link rel="icon" href="data:,">';

/** Maximum concurrent requests of one context; a page with a thousand unbundled modules still fits. */
export const MOST_REQUESTS = 1_000;

/** Receives the refused address, and whether it was a navigation of the page itself. */
export type Refused = (what: string, isNavigation: boolean) => void;

/** The network access of one page: local folders, allowed origins through its own gateway, and nothing else. */
export class PageNetwork {
  onRefused: Refused = () => undefined;
  /** Called when a page has more concurrent requests than the browser can serve beside other pages. */
  onFlood: () => void = () => undefined;
  /** Whether a page is one of the windows that are used. */
  isWindow: (page: Page) => boolean = () => true;
  /** Called for each allowed request. */
  onRequest: (request: PageRequest) => void = () => undefined;
  /** Why the gateway refused the most recent connection. */
  refusal: string | null = null;
  /** Requests whose answers the browser has not received yet. */
  answering = 0;
  private readonly waiting: (() => void)[] = [];
  /** The number of them that counts as a flood. */
  mostRequests = MOST_REQUESTS;

  private constructor(
    private readonly spec: PageSpec,
    private readonly rules: PageRules,
    private readonly gateway: Gateway | null,
  ) {}

  static async open(spec: PageSpec, rules: PageRules): Promise<PageNetwork> {
    // Downloads of links bypass the routes of a context.
    const local = spec.downloads ? localAnswers(spec, rules) : undefined;
    if (spec.networkOrigins.length === 0 && local === undefined) return new PageNetwork(spec, rules, null);
    const onRefused = (reason: string) => {
      network.refusal = reason;
      network.onRefused(reason, false);
    };
    const { networkOrigins: origins } = spec;
    const { privateOrigins } = rules;
    const gateway = await Gateway.open({
      ...{ origins, privateOrigins, onRefused },
      ...(local === undefined ? {} : { local }),
    });
    const network = new PageNetwork(spec, rules, gateway);
    return network;
  }

  /** Context options that route every connection to the gateway, or to a dead end. */
  get contextOptions(): BrowserContextOptions {
    return {
      serviceWorkers: 'block',
      acceptDownloads: false,
      // Loopback addresses bypass any proxy unless this rule disables that.
      proxy: { server: this.gateway?.url ?? NOWHERE, bypass: '<-loopback>' },
    };
  }

  /** Serves plugin pages from disk, allows requests to listed origins, and refuses everything else. */
  async guard(context: BrowserContext): Promise<void> {
    await context.route('**/*', async (route) => {
      this.answering++;
      if (this.answering > this.mostRequests) this.onFlood();
      try {
        await this.answer(route);
      } catch {
        // The page was closed while its request was answered.
      } finally {
        this.answering--;
        if (this.answering === 0) for (const done of this.waiting.splice(0)) done();
      }
    });
  }

  private hasWindow(request: Request): boolean {
    try {
      return this.isWindow(request.frame().page());
    } catch {
      // A new window may have no frame before its first navigation.
      return false;
    }
  }

  /** Resolves when all requests are answered. */
  async answered(): Promise<void> {
    if (this.answering > 0) await new Promise<void>((done) => this.waiting.push(done));
  }

  close(): void {
    this.gateway?.close();
  }

  private async answer(route: Route): Promise<void> {
    const request = route.request();
    const url = new URL(request.url());
    const folder = folderOf(url, this.rules.pages);
    if (!this.spec.origins.has(url.origin)) {
      const isNavigation = request.isNavigationRequest() && isOfWindow(request);
      this.onRefused(`${request.url()} is not allowed`, isNavigation);
      if (isNavigation && !this.hasWindow(request)) {
        // Playwright reports no window whose first navigation is aborted; this one is closed when it appears.
        await route.fulfill({ status: 403, contentType: 'text/html', body: EMPTY });
      } else {
        // "aborted" keeps the current page; other reasons show the browser's error page.
        await route.abort(isNavigation ? 'aborted' : 'blockedbyclient');
      }
      return;
    }
    this.onRequest({ method: request.method(), url: request.url(), body: request.postData() });
    if (folder === null) {
      await route.continue();
    } else if (url.pathname === EMPTY_DOCUMENT) {
      await route.fulfill({ status: 200, contentType: 'text/html', body: EMPTY });
    } else {
      await serve(route, folder, url.pathname);
    }
  }
}

/** Whether a navigation is one of a window, not of a frame in it. */
function isOfWindow(request: Request): boolean {
  try {
    return request.frame().parentFrame() === null;
  } catch {
    // A new window may have no frame before its first navigation.
    return true;
  }
}

function folderOf(url: URL, pages: Readonly<Record<string, string>>): string | null {
  const name = /^([a-z0-9-]+)\.uirl$/.exec(url.host)?.[1];
  if (name === undefined || url.protocol !== 'http:') return null;
  return Object.hasOwn(pages, name) ? pages[name] : null;
}

/**
 * Redirects to the folder URL, so that relative addresses resolve inside it. An HTTP redirect would bypass the local
 * folders: Playwright sends it to the network.
 */
const INTO_FOLDER =
  '<script>location.replace(location.pathname + "/" + location.search + location.hash)</script>';

async function serve(route: Route, folder: string, pathname: string): Promise<void> {
  const path = fileOf(folder, pathname);
  const index = path === null || !(await isFolder(path)) ? null : join(path, 'index.html');
  if (index !== null && existsSync(index) && route.request().isNavigationRequest()) {
    await route.fulfill({ status: 200, contentType: 'text/html', body: INTO_FOLDER });
    return;
  }
  const { contentType, ...answer } = await fileAnswer(index ?? path, pathname);
  await route.fulfill({ ...answer, contentType, headers: { 'cache-control': 'no-store' } });
}

async function fileAnswer(file: string | null, pathname: string) {
  const body = file === null ? null : await readFile(file).catch(() => null);
  return file === null || body === null
    ? { status: 404, contentType: 'text/plain', body: `there is no ${pathname}` }
    : { status: 200, contentType: contentTypeOf(file), body };
}

/** Answers connections to local origins from their folders. */
function localAnswers({ origins: allowed }: PageSpec, { pages }: PageRules) {
  const origins = [...allowed].filter((origin) => folderOf(new URL(origin), pages) !== null);
  const answer = async ({ headers, url = '/' }: IncomingMessage, response: ServerResponse) => {
    const { pathname, host } = new URL(url, `http://${headers.host}`);
    const folder = origins.includes(`http://${host}`) ? folderOf(new URL(`http://${host}`), pages) : null;
    const file = folder === null ? null : fileOf(folder, pathname);
    const { status, contentType, body } = await fileAnswer(file, pathname);
    response.writeHead(status, { 'content-type': contentType }).end(body);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.writeHead(400).end());
  });
  return { origins, answer: (client: Socket) => void server.emit('connection', client) };
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** The file or folder for a path; null if it is outside the page's folder. */
function fileOf(folder: string, pathname: string): string | null {
  try {
    const relative = normalize(
      decodeURIComponent(pathname.endsWith('/') ? `${pathname}index.html` : pathname),
    );
    return relative.includes('\0') ? null : join(folder, normalize(`/${relative}`));
  } catch {
    return null;
  }
}
