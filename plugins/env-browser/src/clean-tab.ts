import { DEADLINES, RETRIES, retry } from '@ui-rl/plugin-kit';
import type { BrowserTab } from './browser-tab';
import { EMPTY_DOCUMENT } from './network';

/** What stays in a window, whatever document it shows. */
const FORGET = `(sessionStorage.clear(), localStorage.clear(), (window.name = ''))`;

/** What the process of a kept page may hold when the page is gone; a page has a few MB. */
const MOST_HEAP_BYTES = 64 * 2 ** 20;

/**
 * Leaves the page of an episode and forgets what it left behind: its document with timers, workers and globals, storage of
 * every kind, cookies, caches, history, the name of the window. False where something of it may still be there: then the
 * page has to be closed. Never throws.
 */
export async function clean(tab: BrowserTab): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), DEADLINES.browserClean.ms);
  });
  try {
    return await Promise.race([forget(tab), late]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}

async function forget(tab: BrowserTab): Promise<boolean> {
  const { cdp, page } = tab;
  const { origin } = new URL(tab.spec.url);
  await page.goto(`${origin}${EMPTY_DOCUMENT}`, { waitUntil: 'commit', timeout: 0 });
  await tab.evaluate(FORGET);
  await Promise.all([
    cdp.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' }),
    cdp.send('Network.clearBrowserCookies'),
    cdp.send('Page.resetNavigationHistory'),
  ]);
  if (!(await isLight(tab))) return false;
  // Workers of the page that was left end a moment after it.
  tab.isEmpty = await retry(RETRIES.browserLeft, () => isAlone(tab), {
    isTransient: () => false,
    isTransientResult: (alone) => !alone,
  });
  return tab.isEmpty;
}

async function isLight({ cdp }: BrowserTab): Promise<boolean> {
  const { usedSize, embedderHeapUsedSize, backingStorageSize } = await cdp.send('Runtime.getHeapUsage');
  return usedSize + embedderHeapUsedSize + backingStorageSize < MOST_HEAP_BYTES;
}

/** Whether nothing else runs in the page's context: neither a worker that outlives its page nor a window. */
async function isAlone({ cdp, contextId }: BrowserTab): Promise<boolean> {
  const { targetInfos } = await cdp.send('Target.getTargets', { filter: [{}] });
  // What the protocol calls a tab is around each page, not beside it.
  const running = targetInfos.filter(
    ({ browserContextId, type }) => browserContextId === contextId && type !== 'tab',
  );
  return running.length === 1;
}
