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
import { FILES } from './fixture-files';
import { findBrowser } from './find-browser';
import { BrowserPool } from './browser-pool';
import { FirstFrames, type FirstFrame } from './in-place/first-frames';
import { Launcher } from './launch';
import { observe } from './observe';
import type { BrowserOptions } from './options';
import { pageOrigin, readPageSpec, type PageRules, type PageSpec } from './page-spec';
import { Popups } from './popups/popups';
import { asReply, BrowserSession } from './session';
import { Recorder, type Called } from './recorder';
import { RECORDINGS } from './recording';
import { settle } from './settle';
import { readState } from './state';
import { STORAGE_STATES } from './storage-state';
import { BrowserTab } from './browser-tab';

/** CPU cost of opening a page; a new tab first needs a context and a process. */
const COSTS = { kept: 1, fresh: 2 };

/** Maximum wait for images that a page requests during its reset. */
const IMAGES_MS = 1_000;

/** The first frame of an episode. */
interface FirstFrameOf {
  first: FirstFrame;
  popups: Popups;
}

/** `tried`: the first frame after a reset in place, for comparison with the frame after loading. */
type Reset = ({ isUsable: true } & FirstFrameOf) | { isUsable: false; tried: FirstFrame | undefined };

/** A tab between two episodes. */
interface Idle {
  tab: BrowserTab;
  /** Whether cleaning up the last episode succeeded. */
  ready: Promise<boolean>;
}

/**
 * Pages in headless browsers. The tab of a plugin page is kept for the next episode: unchanged if the page can be
 * reset in place, otherwise cleaned, so that any page of the same origin can be loaded in it.
 */
export class BrowserEnvironment implements Environment {
  private readonly idle: Idle[] = [];
  private readonly admission = new Admission(COSTS.fresh * availableParallelism());
  private readonly frames = new FirstFrames();
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
    const { [STORAGE_STATES]: storageStates, [FILES]: files } = variables;
    this.recorder = new Recorder(options, variables[RECORDINGS], context.log);
    this.rules = {
      ...{ pages, absentPages, scripts, privateOrigins, storageStates, files },
      ...{ devices, device: options.emulated_device, resetsInPlace: options.reset === 'in_place' },
    };
  }

  /** Launches the first browser. Throws `BrowserError` if none can be launched. */
  static async create(options: BrowserOptions, context: EnvironmentContext): Promise<BrowserEnvironment> {
    // Imported here so that processes that only list plugins do not load Playwright.
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

  /** A web page may attack the browser; without a sandbox that means this machine. */
  private refuseUnconfined({ networkOrigins: [web] }: PageSpec): void {
    if (web === undefined || this.launcher.isSandboxed || this.options.sandbox === 'off') return;
    throw new BrowserError(
      'no_sandbox',
      `${web} is not shown: Chromium has no sandbox on this machine, as its log says. Pages from local folders are shown; ` +
        'for the web allow user namespaces, or say in the run file: environment: { kind: { sandbox: off } }',
    );
  }

  private async start(
    spec: PageSpec,
    seed: number,
    called: Called,
    deadline: Deadline,
  ): Promise<EnvironmentSession> {
    const kept = await this.takeIdle(spec);
    const shown = kept !== null && this.mayReset(kept, spec) ? kept : null;
    let tried: FirstFrame | undefined;
    try {
      if (shown !== null) {
        const reset = await this.reset(shown, spec, seed, deadline);
        if (reset.isUsable) return await this.begin(shown, reset, called, deadline);
        ({ tried } = reset);
      }
      return await this.admission.run(kept === null ? COSTS.fresh : COSTS.kept, deadline.signal, async () => {
        const tab = (await this.emptied(kept)) ?? (await this.fresh(spec));
        const loaded = await this.load(tab, spec, seed, deadline);
        if (tried !== undefined) this.compare(spec, seed, tried);
        return this.begin(tab, loaded, called, deadline);
      });
    } catch (error) {
      await kept?.destroy();
      throw error;
    }
  }

  private mayReset(tab: BrowserTab, spec: PageSpec): boolean {
    return isShown(tab, spec) && this.frames.mayReset(spec);
  }

  /** Resets the page in a tab. If the result is unusable, the page must be loaded. */
  private async reset(tab: BrowserTab, spec: PageSpec, seed: number, deadline: Deadline): Promise<Reset> {
    if (this.options.reset === 'own') {
      return { isUsable: true, ...(await this.firstFrame(tab, spec, seed, deadline, false)) };
    }
    const anew = (why: string, tried?: FirstFrame): Reset => {
      this.context.log('debug', `${spec.url} is loaded anew: ${why}`);
      return { isUsable: false, tried };
    };
    const shown = await this.firstFrame(tab, spec, seed, deadline, false).catch((error: unknown) => {
      if (error instanceof BrowserError && error.code === 'page_error') return error;
      throw error;
    });
    if (shown instanceof BrowserError) return anew(shown.message);
    const { left, first } = shown;
    if (left.length > 0) return anew(`the last episode has left ${[...new Set(left)].join(', ')}`);
    const isSame = this.frames.isSame(spec, seed, first);
    if (isSame === false) this.compare(spec, seed, first);
    if (isSame === false || this.frames.isCompared(spec)) return anew('its first frame is compared', first);
    return { isUsable: true, ...shown };
  }

  private async load(
    tab: BrowserTab,
    spec: PageSpec,
    seed: number,
    deadline: Deadline,
  ): Promise<FirstFrameOf> {
    try {
      const shown = await this.firstFrame(tab, spec, seed, deadline, true);
      if (this.options.reset === 'in_place') this.frames.note(spec, seed, shown.first);
      return shown;
    } catch (error) {
      await tab.destroy();
      throw error;
    }
  }

  private async firstFrame(
    tab: BrowserTab,
    spec: PageSpec,
    seed: number,
    deadline: Deadline,
    needsLoad: boolean,
  ): Promise<FirstFrameOf & { left: string[] }> {
    const popups = new Popups(tab);
    tab.spec = spec;
    tab.isPlayed = true;
    return tab.during(deadline, async () => {
      if (needsLoad) await tab.load();
      await tab.reset(seed);
      await settle(tab, true);
      await loadImages(tab);
      await refuseBadSelectors(tab);
      const left = await tab.leftovers();
      await tab.beginHistory();
      // Reading the state concurrently with the screenshot costs no extra time.
      const [screenshot, state] = await Promise.all([observe(tab, popups, this.options), readState(tab)]);
      return { first: { screenshot, state }, popups, left };
    });
  }

  /** Begins an episode on the page that its tab shows. */
  private async begin(
    tab: BrowserTab,
    { first: { screenshot, state }, popups }: FirstFrameOf,
    called: Called,
    deadline: Deadline,
  ): Promise<EnvironmentSession> {
    try {
      const recording = await tab.during(deadline, () => this.recorder.begin(tab, screenshot, called));
      tab.beginEpisode();
      const giveBack = (used: BrowserTab, healthy: boolean) => this.takeBack(used, healthy);
      return new BrowserSession(screenshot, state, tab, popups, this.options, recording, giveBack);
    } catch (error) {
      await tab.destroy();
      throw error;
    }
  }

  /** Compares the first frame after a reset in place with the one after loading. */
  private compare(spec: PageSpec, seed: number, tried: FirstFrame): void {
    if (this.frames.isSame(spec, seed, tried) !== false || !this.frames.mayReset(spec)) return;
    this.frames.differs(spec);
    this.context.log(
      'warn',
      `${spec.url} begins differently when it is reset in place (seed ${seed}), so that it is loaded for each episode`,
    );
  }

  /** An idle tab for the same page and appearance; prefers one that already shows the page. */
  private async takeIdle(spec: PageSpec): Promise<BrowserTab | null> {
    const key = keyOf(spec);
    for (;;) {
      const fitting = this.idle.filter(({ tab }) => keyOf(tab.spec) === key);
      const isFull = this.idle.length + this.playing > this.options.kept_pages;
      const taken =
        fitting.find(({ tab }) => this.mayReset(tab, spec)) ??
        fitting.find(({ tab }) => !tab.resettable) ??
        (isFull ? mostOften(fitting.filter(({ tab }) => tab.cleanable)) : undefined);
      if (taken === undefined) return null;
      this.idle.splice(this.idle.indexOf(taken), 1);
      const { tab, ready } = taken;
      if ((await ready) && (tab.resettable || tab.cleanable)) return tab;
      await tab.destroy();
    }
  }

  /** Cleans a tab that still shows a page; null if that fails. */
  private async emptied(kept: BrowserTab | null): Promise<BrowserTab | null> {
    if (kept === null || kept.isEmpty || (await clean(kept))) return kept;
    await kept.destroy();
    return null;
  }

  private async fresh(spec: PageSpec): Promise<BrowserTab> {
    const most = Math.max(this.context.maxSessions, this.options.kept_pages);
    while (this.idle.length > 0 && this.idle.length + this.playing > most) {
      const surplus = mostOften(this.idle)!;
      this.idle.splice(this.idle.indexOf(surplus), 1);
      await surplus.tab.destroy();
    }
    const tab = await BrowserTab.create(this.pool, spec, this.rules, this.context.log);
    tab.failure.whenHappened(() => void this.discard(tab));
    return tab;
  }

  /** Closes a tab that failed between episodes. */
  private async discard(tab: BrowserTab): Promise<void> {
    const index = this.idle.findIndex((idle) => idle.tab === tab);
    if (index < 0) return;
    this.idle.splice(index, 1);
    await tab.destroy();
  }

  /** Cleans up at once, so that nothing of the last episode keeps running until the tab is used again. */
  private async takeBack(tab: BrowserTab, healthy: boolean): Promise<void> {
    this.playing--;
    // A page that floods the browser would continue during cleaning and slow down all others.
    const keep = healthy && tab.isCalm && (await tab.endEpisode());
    tab.isPlayed = false;
    if (keep && tab.resettable) this.idle.push({ tab, ready: tab.suspend() });
    else if (keep && tab.cleanable) this.idle.push({ tab, ready: clean(tab) });
    else await tab.destroy();
  }
}

function refuseBadDevice(device: string | undefined, devices: Devices): void {
  const problem = device === undefined ? undefined : deviceProblem(device, devices);
  if (problem !== undefined) throw new PluginError('option', `environment.kind.emulated_device ${problem}`);
}

/** The oldest tab of the page that the most tabs show: a page that only one shows would have to be loaded again. */
function mostOften(idle: readonly Idle[]): Idle | undefined {
  const counts = new Map<string, number>();
  for (const { tab } of idle) counts.set(tab.spec.url, (counts.get(tab.spec.url) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return idle.find(({ tab }) => counts.get(tab.spec.url) === most);
}

/** Waits for the images requested by a reset, which are part of the first frame. */
async function loadImages(tab: BrowserTab): Promise<void> {
  if (!tab.isAnswering) return;
  await tab.answered(IMAGES_MS);
  await settle(tab, true);
}

/** Whether a tab already shows the page, so that a reset suffices. */
function isShown(tab: BrowserTab, { url }: PageSpec): boolean {
  return tab.resettable && tab.spec.url === url;
}

/** The settings that a context and its tab depend on; any page of the same origins can be shown in them. */
function keyOf({
  viewport,
  scale,
  device,
  origins,
  script,
  input,
  storageState,
  downloads,
}: PageSpec): string {
  const look = [viewport.width, viewport.height, scale, input];
  return JSON.stringify([...look, [...origins].toSorted(), script, storageState, device, downloads]);
}
