import type { CDPSession } from 'playwright';
import { WATCH } from './watch-script';
import type { PageAnswers } from '../page-answers';

/** The tab whose documents are watched. */
interface WatchedTab {
  readonly cdp: CDPSession;
  readonly isAnswering: boolean;
  readonly answers: Pick<PageAnswers, 'evaluate' | 'apart'>;
}

/** Maximum episodes per document, which bounds accumulated state that cannot be observed. */
const MOST_EPISODES = 100;
/** Maximum heap growth of the page's process since its first episode. */
const MOST_GROWTH_BYTES = 32 * 2 ** 20;

/**
 * Clears browser state of a page: storage, window name, focus, selection, scroll positions, animation times. Runs in
 * an isolated world, safe from page scripts.
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

/** Watches the document of a tab over its episodes, to decide whether it is equivalent to a freshly loaded one. */
export class DocumentWatch {
  private episodes = 0;
  private heapBytes = 0;

  constructor(private readonly tab: WatchedTab) {}

  /** Called when another document is loaded. */
  renew(): void {
    this.episodes = 0;
  }

  /** Called before the page resets itself. */
  async begin(): Promise<void> {
    const { tab } = this;
    if (this.episodes++ > 0)
      await Promise.all([tab.answers.apart(FORGET), tab.cdp.send('Network.clearBrowserCookies')]);
    await tab.answers.evaluate(BEGIN);
  }

  /** Called after the reset: traces of earlier episodes, as text. Restarts animations. */
  async leftovers(): Promise<string[]> {
    const { tab } = this;
    const [left, { usedSize, embedderHeapUsedSize, backingStorageSize }] = await Promise.all([
      tab.answers.evaluate<string[]>(LEFTOVERS),
      tab.cdp.send('Runtime.getHeapUsage'),
    ]);
    const heapBytes = usedSize + embedderHeapUsedSize + backingStorageSize;
    await tab.answers.apart(REWIND);
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
