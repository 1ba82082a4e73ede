import { availableParallelism } from 'node:os';
import {
  PluginError,
  retry,
  RETRIES,
  type Deadline,
  type Environment,
  type EnvironmentContext,
  type EnvironmentSession,
  type OpenOptions,
  type Reply,
} from '@ui-rl/plugin-kit';
import { Admission } from './admission';
import { BrowserError } from './errors';
import { refuseBadSelectors } from './checks';
import { clean } from './clean-tab';
import { deviceProblem, type Devices } from './device';
import { findBrowser } from './find-browser';
import { BrowserPool } from './browser-pool';
import { Launcher } from './launch';
import { observe } from './observe';
import type { BrowserOptions } from './options';
import { pageOrigin, readPageSpec, type PageRules, type PageSpec } from './page-spec';
import { Popups } from './popups/popups';
import { asReply, BrowserSession } from './session';
import { Recorder, type Called } from './recorder';
import { RECORDINGS } from './recording';
import { RequestTally } from './request-tally';
import { settle } from './settle';
import { readState } from './state';
import { STORAGE_STATES } from './storage-state';
import { BrowserTab } from './browser-tab';

/** Processor time of opening a page, in shares: a fresh one needs a context and a process first. */
const COSTS = { kept: 1, fresh: 2 };

/** A tab between two episodes. */
interface Idle {
  tab: BrowserTab;
  /** Whether it could be cleaned of the last one. */
  ready: Promise<boolean>;
}

/**
 * Pages in headless browsers. The tab of a plugin page is kept for the next episode: as it is where the page can reset itself,
 * else cleaned, so that any page of the same origin can be loaded in it.
 */
export class BrowserEnvironment implements Environment {
  private readonly idle: Idle[] = [];
  private readonly admission = new Admission(COSTS.fresh * availableParallelism());
  private playing = 0;
  private readonly rules: PageRules;
  private readonly recorder: Recorder;

  private constructor(
    private readonly pool: BrowserPool,
    private readonly launcher: Launcher,
    private readonly options: BrowserOptions,
    private readonly context: EnvironmentContext,
    devices: Devices,
  ) {
    const privateOrigins = new Set(options.private_origins.map((origin) => new URL(origin).origin));
    const { pages, absentPages = {}, scripts = {}, variables = {} } = context;
    const storageStates = variables[STORAGE_STATES];
    this.recorder = new Recorder(options, variables[RECORDINGS], context.log);
    this.rules = {
      ...{ pages, absentPages, scripts, privateOrigins, storageStates },
      ...{ devices, device: options.emulated_device },
    };
  }

  /** Starts the first browser. Throws `BrowserError` where there is none. */
  static async create(options: BrowserOptions, context: EnvironmentContext): Promise<BrowserEnvironment> {
    // Loaded here: processes that only list plugins need no Playwright.
    const { chromium, devices } = await import('playwright');
    refuseBadDevice(options.emulated_device, devices);
    Recorder.refuseWithoutFolder(options, context.variables?.[RECORDINGS]);
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
    return new BrowserEnvironment(pool, launcher, options, context, devices);
  }

  async open({ task, seed, episode }: OpenOptions, deadline: Deadline): Promise<Reply<EnvironmentSession>> {
    return asReply(async () => {
      const spec = readPageSpec(task, this.rules);
      this.refuseUnconfined(spec);
      this.playing++;
      try {
        const called = { name: episode ?? task.id ?? 'episode', title: task.description };
        return await retry(RETRIES.browserPage, () => this.start(spec, seed, called, deadline), {
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
    await Promise.all(this.idle.splice(0).map(({ tab }) => tab.destroy()));
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

  private async start(
    spec: PageSpec,
    seed: number,
    called: Called,
    deadline: Deadline,
  ): Promise<EnvironmentSession> {
    const kept = await this.takeIdle(spec);
    try {
      if (kept !== null && isShown(kept, spec)) return await this.begin(kept, spec, seed, called, deadline);
      return await this.admission.run(kept === null ? COSTS.fresh : COSTS.kept, deadline.signal, async () => {
        const tab = (await this.emptied(kept)) ?? (await this.fresh(spec));
        return this.begin(tab, spec, seed, called, deadline);
      });
    } catch (error) {
      await kept?.destroy();
      throw error;
    }
  }

  /** Begins an episode on a tab, which is loaded unless the page that it shows can reset itself. */
  private async begin(
    tab: BrowserTab,
    spec: PageSpec,
    seed: number,
    called: Called,
    deadline: Deadline,
  ): Promise<EnvironmentSession> {
    const needsLoad = !isShown(tab, spec);
    const popups = new Popups(tab);
    tab.spec = spec;
    tab.isPlayed = true;
    try {
      const [screenshot, state] = await tab.during(deadline, async () => {
        if (needsLoad) await tab.load();
        await tab.reset(seed);
        await settle(tab, true);
        await refuseBadSelectors(tab);
        await tab.beginHistory();
        // Asked for while the screenshot is made, the state costs no time of its own.
        return Promise.all([observe(tab, popups, this.options), readState(tab)]);
      });
      tab.requests = new RequestTally(spec.checks);
      const recording = await tab.during(deadline, () => this.recorder.begin(tab, screenshot, called));
      const giveBack = (used: BrowserTab, healthy: boolean) => this.takeBack(used, healthy);
      return new BrowserSession(screenshot, state, tab, popups, this.options, recording, giveBack);
    } catch (error) {
      await tab.destroy();
      throw error;
    }
  }

  /** A tab of the same page and look that is ready for another episode; one that shows it already where there is one. */
  private async takeIdle(spec: PageSpec): Promise<BrowserTab | null> {
    const key = keyOf(spec);
    for (;;) {
      const fitting = this.idle.filter(({ tab }) => keyOf(tab.spec) === key);
      const taken =
        fitting.find(({ tab }) => isShown(tab, spec)) ??
        fitting.find(({ tab }) => !tab.resettable) ??
        fitting.find(({ tab }) => tab.cleanable);
      if (taken === undefined) return null;
      this.idle.splice(this.idle.indexOf(taken), 1);
      const { tab, ready } = taken;
      if ((await ready) && (tab.resettable || tab.cleanable)) return tab;
      await tab.destroy();
    }
  }

  /** The tab of another page that can reset itself is cleaned no earlier than here; null where that fails. */
  private async emptied(kept: BrowserTab | null): Promise<BrowserTab | null> {
    if (kept === null || !kept.resettable || (await clean(kept))) return kept;
    await kept.destroy();
    return null;
  }

  private async fresh(spec: PageSpec): Promise<BrowserTab> {
    while (this.idle.length > 0 && this.idle.length + this.playing > this.context.maxSessions) {
      await this.idle.shift()?.tab.destroy();
    }
    const tab = await BrowserTab.create(this.pool, spec, this.rules, this.context.log);
    tab.failure.whenHappened(() => void this.discard(tab));
    return tab;
  }

  /** Closes a tab that failed while nobody played on it. */
  private async discard(tab: BrowserTab): Promise<void> {
    const index = this.idle.findIndex((idle) => idle.tab === tab);
    if (index < 0) return;
    this.idle.splice(index, 1);
    await tab.destroy();
  }

  /** What the last episode has left is cleaned away at once, so that none of it runs on until somebody needs the tab. */
  private async takeBack(tab: BrowserTab, healthy: boolean): Promise<void> {
    this.playing--;
    // What floods the browser would go on while it is cleaned, at the cost of all others.
    const keep = healthy && tab.isCalm;
    tab.isPlayed = false;
    if (keep && tab.resettable) this.idle.push({ tab, ready: Promise.resolve(true) });
    else if (keep && tab.cleanable) this.idle.push({ tab, ready: clean(tab) });
    else await tab.destroy();
  }
}

function refuseBadDevice(device: string | undefined, devices: Devices): void {
  const problem = device === undefined ? undefined : deviceProblem(device, devices);
  if (problem !== undefined) throw new PluginError('option', `environment.emulated_device ${problem}`);
}

/** Whether a tab shows the page already, so that a reset is all it needs. */
function isShown(tab: BrowserTab, { url }: PageSpec): boolean {
  return tab.resettable && tab.spec.url === url;
}

/** What a context and its tab are made for; any page of the same origins can be shown in them. */
function keyOf({ viewport, scale, device, origins, script, input, storageState }: PageSpec): string {
  const look = [viewport.width, viewport.height, scale, input];
  return JSON.stringify([...look, [...origins].toSorted(), script, storageState, device]);
}
