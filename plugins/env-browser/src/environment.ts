import {
  retry,
  RETRIES,
  type Deadline,
  type Environment,
  type EnvironmentContext,
  type EnvironmentSession,
  type OpenOptions,
  type Reply,
} from '@ui-rl/plugin-kit';
import { BrowserError } from './errors';
import { findBrowser } from './find-browser';
import { BrowserPool } from './browser-pool';
import type { BrowserOptions } from './options';
import { pageOrigin, readPageSpec, type PageSpec } from './page-spec';
import { asReply, BrowserSession, readState } from './session';
import { settle } from './settle';
import { BrowserTab } from './browser-tab';

/** Pages in headless browsers. Plugin pages that can reset themselves are kept for the next episode. */
export class BrowserEnvironment implements Environment {
  private readonly idle: BrowserTab[] = [];
  private playing = 0;

  private constructor(
    private readonly pool: BrowserPool,
    private readonly context: EnvironmentContext,
  ) {}

  /** Starts the first browser. Throws `BrowserError` where there is none. */
  static async create(options: BrowserOptions, context: EnvironmentContext): Promise<BrowserEnvironment> {
    // Loaded here: processes that only list plugins need no Playwright.
    const { chromium } = await import('playwright');
    const executablePath = findBrowser(options.executable_path ?? null, chromium.executablePath());
    const launch = { executablePath, trustedOrigins: Object.keys(context.pages).map(pageOrigin) };
    const pool = new BrowserPool(chromium, launch, options.pages_per_browser, context.log);
    await pool.start();
    return new BrowserEnvironment(pool, context);
  }

  async open({ task, seed }: OpenOptions, deadline: Deadline): Promise<Reply<EnvironmentSession>> {
    return asReply(async () => {
      const spec = readPageSpec(task, this.context.pages);
      this.playing++;
      try {
        return await retry(RETRIES.browserPage, () => this.start(spec, seed, deadline), {
          signal: deadline.signal,
          isTransient: (error) => error instanceof BrowserError && error.code === 'crashed',
        });
      } catch (error) {
        this.playing--;
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.idle.splice(0).map((tab) => tab.destroy()));
    await this.pool.close();
  }

  private async start(spec: PageSpec, seed: number, deadline: Deadline): Promise<EnvironmentSession> {
    const kept = this.takeIdle(spec);
    const tab = kept ?? (await this.fresh(spec));
    try {
      const [screenshot, state] = await tab.during(deadline, async () => {
        if (kept === null) await tab.load();
        await tab.reset(seed);
        await settle(tab, true);
        // Asked for while the screenshot is made, the state costs no time of its own.
        return Promise.all([tab.capture(), readState(tab)]);
      });
      return new BrowserSession(screenshot, state, tab, (used, healthy) => this.takeBack(used, healthy));
    } catch (error) {
      await tab.destroy();
      throw error;
    }
  }

  /** An idle page that differs in nothing but the options of its reset. */
  private takeIdle(spec: PageSpec): BrowserTab | null {
    const key = keyOf(spec);
    for (;;) {
      const index = this.idle.findIndex((tab) => keyOf(tab.spec) === key);
      if (index < 0) return null;
      const [tab] = this.idle.splice(index, 1);
      if (tab.reusable) {
        tab.spec = spec;
        return tab;
      }
      void tab.destroy();
    }
  }

  private async fresh(spec: PageSpec): Promise<BrowserTab> {
    while (this.idle.length > 0 && this.idle.length + this.playing > this.context.maxSessions) {
      await this.idle.shift()?.destroy();
    }
    return BrowserTab.create(this.pool, spec, this.context.pages, this.context.log);
  }

  private async takeBack(tab: BrowserTab, healthy: boolean): Promise<void> {
    this.playing--;
    if (healthy && tab.reusable) this.idle.push(tab);
    else await tab.destroy();
  }
}

function keyOf({ url, viewport, origins, input }: PageSpec): string {
  return JSON.stringify([url, viewport.width, viewport.height, [...origins].toSorted(), input]);
}
