import type { CDPSession } from 'playwright';
import { WATCH } from './watch-script';

/** The tab whose documents are watched. */
interface WatchedTab {
  readonly cdp: CDPSession;
  readonly isAnswering: boolean;
  evaluate<T = void>(expression: string): Promise<T>;
  apart<T>(expression: string): Promise<T>;
}

/** Episodes on one document: what cannot be seen of a page piles up no further. */
const MOST_EPISODES = 100;
/** What the process of a page may hold more than when its first episode began. */
const MOST_GROWTH_BYTES = 32 * 2 ** 20;

/**
 * Forgets what the browser keeps for a page: storage, the name of its window, focus, selection, scroll positions, where animations are. The document is
 * the same, the functions are the browser's own.
 */
const FORGET = `(() => {
  localStorage.clear();
  sessionStorage.clear();
  window.name = '';
  for (let at = document.activeElement; at !== null && at !== document.body; at = document.activeElement) {
    const inner = at.shadowRoot?.activeElement ?? at;
    inner.blur?.();
    if (document.activeElement === at) break;
  }
  getSelection().removeAllRanges();
  scrollTo(0, 0);
  for (const each of document.querySelectorAll('*')) {
    if (each.scrollTop !== 0 || each.scrollLeft !== 0) each.scrollTo(0, 0);
  }
})()`;
const BEGIN = `window.${WATCH}?.begin()`;
const LEFTOVERS = `window.${WATCH}?.leftovers() ?? ['document without its watch']`;
const REWIND = `for (const each of document.getAnimations()) if (each instanceof CSSAnimation) each.currentTime = 0`;

/** Watches the document of a tab over its episodes, so that it can be told whether one can begin in it as in a new one. */
export class DocumentWatch {
  private episodes = 0;
  private heapBytes = 0;

  constructor(private readonly tab: WatchedTab) {}

  /** Another document is shown. */
  renew(): void {
    this.episodes = 0;
  }

  /** Before the page resets itself. */
  async begin(): Promise<void> {
    const { tab } = this;
    if (this.episodes++ > 0)
      await Promise.all([tab.apart(FORGET), tab.cdp.send('Network.clearBrowserCookies')]);
    await tab.evaluate(BEGIN);
  }

  /** After the reset: what earlier episodes have left, in words; what can move begins anew. */
  async leftovers(): Promise<string[]> {
    const { tab } = this;
    const [left, { usedSize, embedderHeapUsedSize, backingStorageSize }] = await Promise.all([
      tab.evaluate<string[]>(LEFTOVERS),
      tab.cdp.send('Runtime.getHeapUsage'),
    ]);
    const heapBytes = usedSize + embedderHeapUsedSize + backingStorageSize;
    await tab.apart(REWIND);
    if (this.episodes <= 1) {
      this.heapBytes = heapBytes;
      return [];
    }
    return [
      ...left,
      ...(tab.isAnswering ? ['request'] : []),
      ...(this.episodes > MOST_EPISODES ? [`${MOST_EPISODES} episodes`] : []),
      ...(heapBytes - this.heapBytes > MOST_GROWTH_BYTES ? ['grown heap'] : []),
    ];
  }
}
