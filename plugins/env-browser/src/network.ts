import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import type { BrowserContext, BrowserContextOptions, Route } from 'playwright';
import type { PageSpec } from './page-spec';

/** Nothing listens there: what goes past the interception (redirects, sockets) ends here. */
const NOWHERE = 'http://127.0.0.1:1';

const CONTENT_TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.gif': 'image/gif',
  '.html': 'text/html; charset=utf-8',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.ttf': 'font/ttf',
  '.webp': 'image/webp',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
};

/** The options of a context that reaches no host but those of the allowed origins. */
export function closedNetwork(spec: PageSpec): BrowserContextOptions {
  const hosts = [...spec.origins].map((origin) => new URL(origin).host);
  return {
    serviceWorkers: 'block',
    // Further origins may lie on this machine or its network, which Chromium would ask a person about.
    permissions: spec.origins.size > 1 ? ['local-network-access'] : [],
    acceptDownloads: false,
    // Loopback addresses go past any proxy unless that rule is taken away first.
    proxy: { server: NOWHERE, bypass: ['<-loopback>', ...hosts].join(',') },
  };
}

/** Serves plugin pages from disk, lets allowed origins pass, and refuses everything else. */
export async function guardNetwork(
  context: BrowserContext,
  spec: PageSpec,
  pages: Readonly<Record<string, string>>,
  refused: (url: string, isNavigation: boolean) => void,
): Promise<void> {
  await context.route('**/*', async (route) => {
    try {
      await answer(route, spec, pages, refused);
    } catch {
      // The page was closed while its request was answered.
    }
  });
}

async function answer(
  route: Route,
  spec: PageSpec,
  pages: Readonly<Record<string, string>>,
  refused: (url: string, isNavigation: boolean) => void,
): Promise<void> {
  const request = route.request();
  const url = new URL(request.url());
  const folder = folderOf(url, pages);
  if (!spec.origins.has(url.origin)) {
    const isNavigation = request.isNavigationRequest() && request.frame().parentFrame() === null;
    refused(request.url(), isNavigation);
    // "aborted" leaves the page where it is; other reasons would show the browser's error page.
    await route.abort(isNavigation ? 'aborted' : 'blockedbyclient');
  } else if (folder === null) {
    await route.continue();
  } else {
    await serve(route, folder, url.pathname);
  }
}

function folderOf(url: URL, pages: Readonly<Record<string, string>>): string | null {
  const name = /^([a-z0-9-]+)\.uirl$/.exec(url.host)?.[1];
  if (name === undefined || url.protocol !== 'http:') return null;
  return Object.hasOwn(pages, name) ? pages[name] : null;
}

async function serve(route: Route, folder: string, pathname: string): Promise<void> {
  const path = fileOf(folder, pathname);
  const body = path === null ? null : await readFile(path).catch(() => null);
  if (path === null || body === null) {
    await route.fulfill({ status: 404, contentType: 'text/plain', body: `there is no ${pathname}` });
    return;
  }
  const contentType = CONTENT_TYPES[extname(path)] ?? 'application/octet-stream';
  await route.fulfill({ status: 200, contentType, headers: { 'cache-control': 'no-store' }, body });
}

/** The file behind a path, never outside of the folder. */
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
