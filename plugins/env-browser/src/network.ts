import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import type { BrowserContext, BrowserContextOptions, Route } from 'playwright';
import { NOWHERE } from './chromium-arguments';
import { contentTypeOf } from './content-types';
import { Gateway } from './gateway';
import type { PageRules, PageSpec } from './page-spec';
import type { PageRequest } from './request-tally';

/** An empty document of each local origin: a tab that is left there keeps the process and the compiled code of its last page. */
export const EMPTY_DOCUMENT = '/.uirl-empty';
/** Names an icon, so that the browser asks for none. */
const EMPTY = '<link rel="icon" href="data:,">';

/** Requests of one context at a time; a page of a thousand modules that are not bundled is still within it. */
export const MOST_REQUESTS = 1_000;

/** What was refused, and whether the page itself would have gone there. */
export type Refused = (what: string, isNavigation: boolean) => void;

/** What one page may reach: folders of this machine, allowed origins through a gateway of its own, and nothing else. */
export class PageNetwork {
  onRefused: Refused = () => undefined;
  /** Told where there are more requests at a time than a browser can answer beside its other pages. */
  onFlood: () => void = () => undefined;
  /** Told of each request that is let through. */
  onRequest: (request: PageRequest) => void = () => undefined;
  /** Why the gateway refused the last connection that it did. */
  refusal: string | null = null;
  /** Requests that were asked for and that the browser has not taken the answer of. */
  answering = 0;
  private readonly waiting: (() => void)[] = [];
  /** How many of them are a flood. */
  mostRequests = MOST_REQUESTS;

  private constructor(
    private readonly spec: PageSpec,
    private readonly rules: PageRules,
    private readonly gateway: Gateway | null,
  ) {}

  static async open(spec: PageSpec, rules: PageRules): Promise<PageNetwork> {
    if (spec.networkOrigins.length === 0) return new PageNetwork(spec, rules, null);
    const onRefused = (reason: string) => {
      network.refusal = reason;
      network.onRefused(reason, false);
    };
    const { networkOrigins: origins } = spec;
    const gateway = await Gateway.open({ origins, privateOrigins: rules.privateOrigins, onRefused });
    const network = new PageNetwork(spec, rules, gateway);
    return network;
  }

  /** Options of a context whose connections, of whatever kind, end at the gateway, or nowhere. */
  get contextOptions(): BrowserContextOptions {
    return {
      serviceWorkers: 'block',
      acceptDownloads: false,
      // Loopback addresses go past any proxy unless that rule is taken away first.
      proxy: { server: this.gateway?.url ?? NOWHERE, bypass: '<-loopback>' },
    };
  }

  /** Serves plugin pages from disk, lets allowed origins pass, and refuses everything else. */
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

  /** When all that was asked for is answered. */
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
      const isNavigation = request.isNavigationRequest() && request.frame().parentFrame() === null;
      this.onRefused(`${request.url()} is not allowed`, isNavigation);
      // "aborted" leaves the page where it is; other reasons would show the browser's error page.
      await route.abort(isNavigation ? 'aborted' : 'blockedbyclient');
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

function folderOf(url: URL, pages: Readonly<Record<string, string>>): string | null {
  const name = /^([a-z0-9-]+)\.uirl$/.exec(url.host)?.[1];
  if (name === undefined || url.protocol !== 'http:') return null;
  return Object.hasOwn(pages, name) ? pages[name] : null;
}

/** Leads to the folder itself, so that what its page names lies there. A redirect would leave the folders of pages: Playwright lets it go to the network. */
const INTO_FOLDER =
  '<script>location.replace(location.pathname + "/" + location.search + location.hash)</script>';

async function serve(route: Route, folder: string, pathname: string): Promise<void> {
  const path = fileOf(folder, pathname);
  const index = path === null || !(await isFolder(path)) ? null : join(path, 'index.html');
  if (index !== null && existsSync(index) && route.request().isNavigationRequest()) {
    await route.fulfill({ status: 200, contentType: 'text/html', body: INTO_FOLDER });
    return;
  }
  const file = index ?? path;
  const body = file === null ? null : await readFile(file).catch(() => null);
  if (file === null || body === null) {
    await route.fulfill({ status: 404, contentType: 'text/plain', body: `there is no ${pathname}` });
    return;
  }
  const headers = { 'cache-control': 'no-store' };
  await route.fulfill({ status: 200, contentType: contentTypeOf(file), headers, body });
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** The file behind a path, or the folder, never outside of the page's own folder. */
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
