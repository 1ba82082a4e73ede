import { DEADLINES, RETRIES, retry } from '@ui-rl/plugin-kit';
import type { BrowserTab } from './browser-tab';
import { EMPTY_DOCUMENT } from './network';

/** Clears state that a window keeps across documents. */
const FORGET = `(sessionStorage.clear(), localStorage.clear(), (window.name = ''))`;

/** Maximum heap of a reused page's process after cleaning; a page needs a few MB. */
const MOST_HEAP_BYTES = 64 * 2 ** 20;

/**
 * Unloads the page of an episode and clears everything it left: the document with timers, workers and globals,
 * storage of every kind, cookies, caches, history, and the window name. Returns false if something may remain; the
 * page must then be closed. Never throws.
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
  await tab.answers.evaluate(FORGET);
  await Promise.all([
    cdp.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' }),
    cdp.send('Network.clearBrowserCookies'),
    cdp.send('Page.resetNavigationHistory'),
  ]);
  if (!(await isLight(tab))) return false;
  // Workers of the unloaded page end a moment after it.
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

/** Whether nothing else runs in the page's context, such as a worker that outlives its page, or a window. */
async function isAlone({ cdp, contextId }: BrowserTab): Promise<boolean> {
  const { targetInfos } = await cdp.send('Target.getTargets', { filter: [{}] });
  // The protocol's `tab` target is the container of a page, not another page.
  const running = targetInfos.filter(
    ({ browserContextId, type }) => browserContextId === contextId && type !== 'tab',
  );
  return running.length === 1;
}
