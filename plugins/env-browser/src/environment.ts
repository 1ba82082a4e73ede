import type {
  Deadline,
  Environment,
  EnvironmentOptions,
  EnvironmentSession,
  OpenOptions,
  Reply,
} from '@ui-rl/plugin-kit';
import { BrowserError } from './errors';
import { findBrowser } from './find-browser';
import { BrowserFleet } from './fleet';
import { pageOrigin, readPageSpec, readSettings, type PageSpec } from './options';
import { asReply, BrowserSession } from './session';
import { settle } from './settle';
import { Stage } from './stage';

/** A page that was gone before the episode began is replaced this often. */
const ATTEMPTS = 2;

/** Pages in headless browsers. Plugin pages that can reset themselves are kept for the next episode. */
export class BrowserEnvironment implements Environment {
  private readonly idle: Stage[] = [];
  private playing = 0;

  private constructor(
    private readonly fleet: BrowserFleet,
    private readonly options: EnvironmentOptions,
  ) {}

  /** Starts the first browser. Throws `BrowserError` where there is none, `PluginError` where a setting is wrong. */
  static async create(options: EnvironmentOptions): Promise<BrowserEnvironment> {
    const settings = readSettings(options.settings);
    // Loaded here: processes that only list plugins need no Playwright.
    const { chromium } = await import('playwright');
    const executablePath = findBrowser(settings.executablePath, chromium.executablePath());
    const launch = { executablePath, trustedOrigins: Object.keys(options.pages).map(pageOrigin) };
    const fleet = new BrowserFleet(chromium, launch, settings.pagesPerBrowser, options.log);
    await fleet.start();
    return new BrowserEnvironment(fleet, options);
  }

  async open({ task, seed }: OpenOptions, deadline: Deadline): Promise<Reply<EnvironmentSession>> {
    return asReply(async () => {
      const spec = readPageSpec(task, this.options.pages);
      this.playing++;
      try {
        return await this.opened(spec, seed, deadline);
      } catch (error) {
        this.playing--;
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.idle.splice(0).map((stage) => stage.destroy()));
    await this.fleet.close();
  }

  private async opened(spec: PageSpec, seed: number, deadline: Deadline): Promise<EnvironmentSession> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.start(spec, seed, deadline);
      } catch (error) {
        const again = error instanceof BrowserError && error.code === 'crashed' && attempt < ATTEMPTS;
        if (!again) throw error;
      }
    }
  }

  private async start(spec: PageSpec, seed: number, deadline: Deadline): Promise<EnvironmentSession> {
    const kept = this.takeIdle(spec);
    const stage = kept ?? (await this.fresh(spec));
    try {
      const screenshot = await stage.during(deadline, async () => {
        if (kept === null) await stage.load();
        await stage.reset(seed);
        await settle(stage, true);
        return stage.capture();
      });
      return new BrowserSession(screenshot, stage, (used, healthy) => this.takeBack(used, healthy));
    } catch (error) {
      await stage.destroy();
      throw error;
    }
  }

  /** An idle page that differs in nothing but what its reset is told. */
  private takeIdle(spec: PageSpec): Stage | null {
    const key = keyOf(spec);
    for (;;) {
      const index = this.idle.findIndex((stage) => keyOf(stage.spec) === key);
      if (index < 0) return null;
      const [stage] = this.idle.splice(index, 1);
      if (stage.reusable) {
        stage.spec = spec;
        return stage;
      }
      void stage.destroy();
    }
  }

  private async fresh(spec: PageSpec): Promise<Stage> {
    while (this.idle.length > 0 && this.idle.length + this.playing > this.options.maxSessions) {
      await this.idle.shift()?.destroy();
    }
    return Stage.create(this.fleet, spec, this.options.pages, this.options.log);
  }

  private async takeBack(stage: Stage, healthy: boolean): Promise<void> {
    this.playing--;
    if (healthy && stage.reusable) this.idle.push(stage);
    else await stage.destroy();
  }
}

function keyOf({ url, viewport, origins, input }: PageSpec): string {
  return JSON.stringify([url, viewport.width, viewport.height, [...origins].toSorted(), input]);
}
