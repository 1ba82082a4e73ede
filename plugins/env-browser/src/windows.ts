import { setTimeout as sleep } from 'node:timers/promises';
import { DEADLINES, type WindowAction } from '@ui-rl/plugin-kit';
import type { BrowserContext, Page } from 'playwright';
import { PageWindow } from './page-window';

/** Maximum number of open windows. */
const MOST_WINDOWS = 8;
/** Number of windows beyond these in one episode that counts as a flood. */
const MOST_REFUSED = 50;
/** Interval at which a window that the browser has announced is awaited. */
const ARRIVAL_MS = 20;

type Announced = 'page' | 'nothing' | 'refused';

export interface WindowHost {
  readonly context: BrowserContext;
  /** The browser's id of the context. */
  contextId(): string;
  /** Whether an episode is played; other windows are closed at once. */
  keepsWindows(): boolean;
  note(outcome: string): void;
  /** Whether the network has this address. */
  allows(url: string): boolean;
  /** Prepares a window like the first one. */
  prepare(window: PageWindow): Promise<void>;
  /** A page opens more windows than the browser can serve beside other pages. */
  flooded(): void;
  /** The last window was closed by its page. */
  closed(): void;
}

/**
 * The windows of a tab: the page of the task and those that it or the agent opens. One is shown: screenshots, actions
 * and checks are about this one. A new window is shown with the next observation.
 */
export class Windows {
  /** In the order of opening. */
  private open: PageWindow[];
  private current: PageWindow;
  /** Windows to show with the next observation. */
  private readonly arrived: PageWindow[] = [];
  private readonly adopting = new Map<Page, Promise<void>>();
  /** Whether an action may have opened a window that has not arrived yet. */
  mayArrive = false;
  /** Contents of the windows that pages have opened and that have not arrived yet, in their order. */
  private announced: Announced[] = [];
  /** Number of windows that were closed at once. */
  private refused = 0;
  /** Whether the page has had other windows beside it. */
  hadOthers = false;

  constructor(
    readonly first: PageWindow,
    private readonly host: WindowHost,
  ) {
    this.open = [first];
    this.current = first;
    this.watchClose(first);
    host.context.on('page', (page) => this.appeared(page));
  }

  get shown(): PageWindow {
    return this.current;
  }

  /** The window that the task's page is in; the shown one if it is closed. */
  get main(): PageWindow {
    return this.open[0] === this.first ? this.first : this.current;
  }

  get count(): number {
    return this.open.length;
  }

  includes(page: Page): boolean {
    return this.open.some((window) => window.page === page);
  }

  /** Index of the shown window. */
  get at(): number {
    return this.open.indexOf(this.current);
  }

  /** The browser's ids of the windows, in their order. */
  get targets(): readonly string[] {
    return this.open.map(({ targetId }) => targetId);
  }

  begin(): void {
    this.mayArrive = false;
    this.announced = [];
    this.refused = 0;
    this.hadOthers = false;
  }

  /** Called before a window arrives. */
  opens(url: string): void {
    this.mayArrive = true;
    const isEmpty = /^(about:blank.*|javascript:.*)?$/.test(url);
    this.announced.push(isEmpty ? 'nothing' : /^(https?|blob):/.test(url) ? 'page' : 'refused');
  }

  /** Performs the action; if it cannot, returns why. */
  async change(action: WindowAction, url: string): Promise<string | null> {
    if ('number' in action) {
      const window = this.open[action.number - 1];
      if (window === undefined) return 'no_such_window';
      await this.show(window);
      return null;
    }
    switch (action.change) {
      case 'new':
        if (this.open.length >= MOST_WINDOWS) return 'too_many_windows';
        await this.openAt(url);
        return null;
      case 'close':
        if (this.open.length === 1) return 'last_window';
        await this.close(this.current);
        return null;
      case 'next':
      case 'previous': {
        const step = action.change === 'next' ? 1 : this.open.length - 1;
        if (this.open.length === 1) return 'last_window';
        await this.show(this.open[(this.at + step) % this.open.length]);
        return null;
      }
    }
  }

  /** Shows the newest window that has been opened since the last call, or is about to. Returns whether there is one. */
  async showArrived(): Promise<boolean> {
    if (this.mayArrive || this.adopting.size > 0) await this.arrival();
    const window = this.arrived.splice(0).findLast((each) => this.open.includes(each));
    if (window === undefined) return false;
    await this.show(window);
    this.host.note('window_opened');
    return true;
  }

  /** Closes all windows but the first one and shows it. Returns false if it is closed. */
  async closeOthers(): Promise<boolean> {
    await Promise.all(this.adopting.values());
    if (this.open[0] !== this.first) return false;
    await Promise.all(this.open.slice(1).map((window) => this.close(window)));
    this.current = this.first;
    return true;
  }

  private async show(window: PageWindow): Promise<void> {
    if (window === this.current) return;
    await this.current.releaseAll().catch(() => undefined);
    this.current = window;
    await window.cdp.send('Page.bringToFront').catch(() => undefined);
  }

  private async openAt(url: string): Promise<void> {
    this.announced.push('nothing');
    const page = await this.host.context.newPage();
    await this.adopting.get(page);
    await this.visit(page, url);
    const at = this.arrived.findIndex((each) => each.page === page);
    if (at >= 0) await this.show(this.arrived.splice(at, 1)[0]);
  }

  private async close(window: PageWindow): Promise<void> {
    window.isClosing = true;
    await window.page.close().catch(() => undefined);
    await window.closed;
  }

  private appeared(page: Page): void {
    if (page === this.first.page) return;
    const isTooMany = this.open.length + this.adopting.size >= MOST_WINDOWS;
    const { host } = this;
    // The browser announces no window that it opens by itself, for keys or the middle button.
    const shows = this.announced.shift() ?? 'page';
    const isKept = host.keepsWindows();
    if (!isKept || isTooMany || shows === 'refused') {
      if (isKept) host.note(isTooMany ? 'too_many_windows' : 'blocked_navigation');
      if (++this.refused > MOST_REFUSED) host.flooded();
      page.close().catch(() => undefined);
      return;
    }
    // A window that closes while it is adopted does not count.
    const adoption = this.adopt(page, shows).catch(() => undefined);
    this.adopting.set(page, adoption);
    void adoption.then(() => this.adopting.delete(page));
  }

  private async adopt(page: Page, shows: Announced): Promise<void> {
    const [opener, cdp] = await Promise.all([page.opener(), this.host.context.newCDPSession(page)]);
    const from = this.open.find((each) => each.page === opener) ?? this.current;
    const window = new PageWindow(page, cdp, from);
    await this.host.prepare(window);
    if (shows === 'page') await firstDocument(page);
    if (page.url().startsWith('chrome-error:')) await this.loadAnew(window);
    else if (!page.url().startsWith('about:') && !this.host.allows(page.url())) await page.close();
    if (page.isClosed()) return;
    this.watchClose(window);
    this.hadOthers = true;
    this.open.push(window);
    this.arrived.push(window);
  }

  /**
   * Loads the address of a window that the browser has opened by itself, for keys or the middle button: before the
   * environment can answer its request.
   */
  private async loadAnew({ page, cdp }: PageWindow): Promise<void> {
    const { entries, currentIndex } = await cdp.send('Page.getNavigationHistory');
    const { url } = entries[currentIndex];
    if (this.host.allows(url)) return this.visit(page, url);
    this.host.note('blocked_navigation');
    await page.close();
  }

  /** Failures are visible on the page. */
  private async visit(page: Page, url: string): Promise<void> {
    const { ms: timeout } = DEADLINES.browserLoad;
    await page.goto(url, { waitUntil: 'commit', timeout }).catch(() => undefined);
  }

  private watchClose(window: PageWindow): void {
    window.page.once('close', () => {
      if (this.open.length === 1) return this.host.closed();
      this.open = this.open.filter((each) => each !== window);
      if (window !== this.current) return;
      const { opener } = window;
      this.current = opener !== null && this.open.includes(opener) ? opener : this.open.at(-1)!;
      if (!window.isClosing) this.host.note('window_closed');
    });
  }

  /** Waits until the windows that the browser has opened are adopted or closed. */
  private async arrival(): Promise<void> {
    this.mayArrive = false;
    const until = performance.now() + DEADLINES.browserLoad.ms;
    while (performance.now() < until) {
      await Promise.all(this.adopting.values());
      if ((await this.awaited()) === 0) {
        this.announced = [];
        return;
      }
      await sleep(ARRIVAL_MS);
    }
    this.mayArrive = true;
    this.host.note('still_loading');
  }

  /** Number of pages in the context that are not known yet. */
  private async awaited(): Promise<number> {
    if (this.open.length >= MOST_WINDOWS) return 0;
    const { targetInfos } = await this.current.cdp.send('Target.getTargets', { filter: [{ type: 'page' }] });
    const known = this.targets;
    const isOwn = ({ browserContextId }: { browserContextId?: string }) =>
      browserContextId === this.host.contextId();
    return targetInfos.filter((info) => isOwn(info) && !known.includes(info.targetId)).length;
  }
}

/** Waits for the first document of a window. */
async function firstDocument(page: Page): Promise<void> {
  const until = performance.now() + DEADLINES.browserReload.ms;
  while (isBlank(page.url()) && !page.isClosed() && performance.now() < until) await sleep(ARRIVAL_MS);
}

function isBlank(url: string): boolean {
  return url === '' || url === ':' || url === 'about:blank';
}
