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
import { Launcher } from './launch';
import type { BrowserOptions } from './options';
import { pageOrigin, readPageSpec, type PageRules, type PageSpec } from './page-spec';
import { asReply, BrowserSession, readState } from './session';
import { settle } from './settle';
import { BrowserTab } from './browser-tab';

/** Pages in headless browsers. Plugin pages that can reset themselves are kept for the next episode. */
export class BrowserEnvironment implements Environment {
  private readonly idle: BrowserTab[] = [];
  private playing = 0;
  private readonly rules: PageRules;

  private constructor(
    private readonly pool: BrowserPool,
    private readonly launcher: Launcher,
    private readonly options: BrowserOptions,
    private readonly context: EnvironmentContext,
  ) {
    const privateOrigins = new Set(options.private_origins.map((origin) => new URL(origin).origin));
    this.rules = { pages: context.pages, privateOrigins };
  }

  /** Starts the first browser. Throws `BrowserError` where there is none. */
  static async create(options: BrowserOptions, context: EnvironmentContext): Promise<BrowserEnvironment> {
    // Loaded here: processes that only list plugins need no Playwright.
    const { chromium } = await import('playwright');
    const { sandbox, pages_per_browser: contextsPerBrowser } = options;
    const executablePath = findBrowser(context.programs.chromium, chromium.executablePath());
    const memoryBytes = options.memory_mb * 2 ** 20;
    const trustedOrigins = Object.keys(context.pages).map(pageOrigin);
    const launch = {
      executablePath,
      sandbox,
      memoryBytes,
      trustedOrigins,
      pagesPerBrowser: contextsPerBrowser,
    };
    const launcher = new Launcher(chromium, launch, context.log);
    const pool = new BrowserPool(launcher, { contextsPerBrowser, memoryBytes }, context.log);
    await pool.start();
    return new BrowserEnvironment(pool, launcher, options, context);
  }

  async open({ task, seed }: OpenOptions, deadline: Deadline): Promise<Reply<EnvironmentSession>> {
    return asReply(async () => {
      const spec = readPageSpec(task, this.rules);
      this.refuseUnconfined(spec);
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

  /** A page of the web may be made to attack the browser, which without a sandbox is this machine. */
  private refuseUnconfined({ networkOrigins: [web] }: PageSpec): void {
    if (web === undefined || this.launcher.isSandboxed || this.options.sandbox === 'off') return;
    throw new BrowserError(
      'no_sandbox',
      `${web} is not shown: Chromium has no sandbox on this machine, as its log says. Pages from local folders are shown; ` +
        'for the web allow user namespaces, or say in the run file: environment: { sandbox: off }',
    );
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
    return BrowserTab.create(this.pool, spec, this.rules, this.context.log);
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
