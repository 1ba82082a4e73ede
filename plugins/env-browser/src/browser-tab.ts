import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DEADLINES, type Deadline, type Region, type Screenshot } from '@ui-rl/plugin-kit';
import type { BrowserContext, CDPSession, FileChooser, Page } from 'playwright';
import { lookOf, storedOf } from './context-options';
import type { Device } from './device';
import { Downloads, type Download } from './downloads';
import { DocumentWatch } from './in-place/document-watch';
import { TIMERS, TIMERS_SCRIPT } from './in-place/timers-script';
import { WATCH_SCRIPT } from './in-place/watch-script';
import { BrowserError } from './errors';
import type { HeldButton } from './held-button';
import type { HeldKeys } from './held-keys';
import { messageOf, type BrowserPool, type Lease } from './browser-pool';
import { MOST_REQUESTS, PageNetwork } from './network';
import { GONE, type PageAnswers } from './page-answers';
import { refusalOf, type PageRules, type PageSpec } from './page-spec';
import { pageText } from './page-text';
import { PageWindow, type PageContract } from './page-window';
import { RequestTally } from './request-tally';
import { crashOf, TabFailure } from './tab-failure';
import { Windows } from './windows';

export type TabLog = (level: 'debug' | 'info' | 'warn' | 'error', message: string) => void;

/** How long to wait for the cause after the browser has reported that a page is gone. */
const REASON_MS = 1_000;

const SUSPEND = `window.${TIMERS}?.suspend()`;
const RESUME = `window.${TIMERS}?.resume()`;

/** Maximum unanswered requests between two steps: those that a browser sends by itself, plus a margin. */
const CALM_REQUESTS = 16;

/**
 * A page in its own context, with the windows that it opens. Collects the outcomes of steps; a crash or a closed page
 * is a rejected promise. Page, session, contract and input devices are those of the shown window.
 */
export class BrowserTab {
  /** Requests since the first frame, if the task checks requests. */
  requests = new RequestTally();
  /** The tab was cleaned and has shown no page since. */
  isEmpty = false;
  /** Whether further windows are kept: from the first frame of an episode to its end. */
  keepsWindows = false;
  /** The browser's id of its context. */
  contextId = '';
  private readonly notes = new Set<string>();
  readonly failure = new TabFailure();
  readonly windows: Windows;
  /** For pages that are reset in place: decides whether a reset is possible. */
  private watchOfDocument: DocumentWatch | null = null;
  private destroyed = false;
  /** The timers of the page are suspended. */
  private isSuspended = false;
  /** For tasks that allow downloads. */
  private downloads: Downloads | null = null;
  /** The file chooser that a window has opened since the last screenshot. */
  private chooser: { window: PageWindow; chooser: FileChooser } | null = null;
  /** Scripts of the tab's windows; another window than the first one has them from its second document on. */
  private readonly scripts: string[] = [];

  private constructor(
    public spec: PageSpec,
    first: PageWindow,
    private readonly lease: Lease,
    private readonly network: PageNetwork,
    private readonly log: TabLog,
  ) {
    this.windows = new Windows(first, {
      context: lease.context,
      contextId: () => this.contextId,
      keepsWindows: () => this.keepsWindows,
      note: (outcome) => this.note(outcome),
      allows: (url) => URL.canParse(url) && this.spec.origins.has(new URL(url).origin),
      prepare: (window) => this.prepare(window),
      flooded: () => this.flooded(),
      closed: () => this.failure.happens(this.closed()),
    });
  }

  static async create(pool: BrowserPool, spec: PageSpec, rules: PageRules, log: TabLog): Promise<BrowserTab> {
    const stored = storedOf(spec, rules);
    const network = await PageNetwork.open(spec, rules);
    const lease = await pool
      .lease({ ...network.contextOptions, ...lookOf(spec), ...stored })
      .catch((error: unknown) => {
        network.close();
        throw error;
      });
    try {
      const page = await lease.context.newPage();
      const cdp = await lease.context.newCDPSession(page);
      const tab = new BrowserTab(spec, new PageWindow(page, cdp, null), lease, network, log);
      await tab.watch(lease.context);
      if (spec.downloads) await tab.allowDownloads();
      if (tab.isLocal) await addScript(tab.window, TIMERS_SCRIPT);
      if (rules.resetsInPlace === true) await tab.watchDocuments();
      if (spec.script !== null) await tab.useScript(await readFile(rules.scripts[spec.script], 'utf8'));
      return tab;
    } catch (cause) {
      network.close();
      await lease.release();
      if (cause instanceof BrowserError) throw cause;
      throw new BrowserError('crashed', `the browser could not open a page: ${messageOf(cause)}`, { cause });
    }
  }

  /** The shown window. */
  get window(): PageWindow {
    return this.windows.shown;
  }

  get page(): Page {
    return this.window.page;
  }

  get cdp(): CDPSession {
    return this.window.cdp;
  }

  get answers(): PageAnswers {
    return this.window.answers;
  }

  get contract(): PageContract {
    return this.window.contract;
  }

  get keys(): HeldKeys {
    return this.window.keys;
  }

  get button(): HeldButton {
    return this.window.button;
  }

  /**
   * Whether the page can be reset in place for another episode: it supports reset and is still the page that was
   * loaded.
   */
  get resettable(): boolean {
    const isOwn = this.spec.script === null || this.watchOfDocument !== null;
    const { contract, navigations } = this.windows.first;
    return this.isLocal && isOwn && contract.reset && navigations <= 1 && !this.windows.hadOthers;
  }

  /** Whether it can be cleaned and reused for another page of the same origin: it has visited no other origin. */
  get cleanable(): boolean {
    return this.isLocal && this.spec.origins.size === 1;
  }

  private get isLocal(): boolean {
    // Stored login state and downloads belong to one episode.
    const { page, storageState, downloads } = this.spec;
    return page !== null && storageState === null && !downloads && !this.failure.happened && !this.destroyed;
  }

  /** Whether it causes no more browser load than is normal between two steps. */
  get isCalm(): boolean {
    return this.lease.isCalm() && this.network.answering <= CALM_REQUESTS;
  }

  /** Number of events that the page has sent so far. */
  get events(): number {
    return this.lease.events();
  }

  /** Whether an episode uses the tab; an idle page needs hardly any requests. */
  set isPlayed(isPlayed: boolean) {
    this.network.mostRequests = isPlayed ? MOST_REQUESTS : CALM_REQUESTS;
  }

  /** Whether a request of the page is pending. */
  get isAnswering(): boolean {
    return this.network.answering > 0;
  }

  /** Resolves when all requests of the page are answered, or after the given time. */
  async answered(milliseconds: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, milliseconds);
    });
    await Promise.race([this.network.answered(), late]);
    clearTimeout(timer);
  }

  get isNavigating(): boolean {
    return this.window.isNavigating;
  }

  async load(): Promise<void> {
    this.window.navigations = 0;
    this.windows.hadOthers = false;
    this.isEmpty = false;
    this.isSuspended = false;
    try {
      const response = await this.page.goto(this.spec.url, { waitUntil: 'load', timeout: 0 });
      if (response !== null && response.status() >= 400) {
        throw new BrowserError('page_error', refusalOf(this.spec, response.status()));
      }
    } catch (cause) {
      if (cause instanceof BrowserError || this.failure.happened) throw cause;
      const reason = this.network.refusal ?? messageOf(cause);
      throw new BrowserError('page_error', `${this.spec.url} cannot be loaded: ${reason}`, { cause });
    }
    await this.window.probe();
    this.watchOfDocument?.renew();
  }

  /** Resets page and pointer to the initial state of an episode. */
  async reset(seed: number): Promise<void> {
    const moved = this.cdp.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x: 0, y: 0 });
    await Promise.all([moved, this.isSuspended ? this.answers.evaluate(RESUME) : undefined]);
    this.isSuspended = false;
    this.button.moved([0, 0]);
    await this.watchOfDocument?.begin();
    if (this.contract.reset) {
      const argument = JSON.stringify({ ...this.spec.reset, seed });
      await this.answers.evaluate(`(async () => {
        if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
        scrollTo(0, 0);
        await window.uirl.reset(${argument});
      })()`);
    }
    this.notes.clear();
  }

  /** Traces of earlier episodes in the document after a reset, as text. Empty if the document is not watched. */
  async leftovers(): Promise<string[]> {
    return (await this.watchOfDocument?.leftovers()) ?? [];
  }

  /** Makes the current page the first history entry: earlier entries belong to other episodes or are blank. */
  async beginHistory(): Promise<void> {
    await this.cdp.send('Page.resetNavigationHistory');
  }

  /** Begins to count requests and to keep further windows. */
  beginEpisode(): void {
    this.requests = new RequestTally(this.spec.checks);
    this.windows.begin();
    this.chooser = null;
    this.keepsWindows = true;
  }

  /** Closes further windows. Returns whether the tab can show another episode. */
  async endEpisode(): Promise<boolean> {
    this.keepsWindows = false;
    const late = sleep(DEADLINES.browserClose.ms, false, { ref: false });
    return Promise.race([this.windows.closeOthers(), late]);
  }

  /**
   * Suspends the timers of the page until its next reset, so that it costs nothing meanwhile. Returns false if the page
   * does not answer. Never throws.
   */
  async suspend(): Promise<boolean> {
    this.isSuspended = true;
    const late = sleep(DEADLINES.browserClean.ms, false, { ref: false });
    const suspended = this.answers.evaluate(SUSPEND).then(
      () => true,
      () => false,
    );
    return Promise.race([suspended, late]);
  }

  capture(region: Region | null = null): Promise<Screenshot> {
    return this.answers.screenshot(this.spec, region);
  }

  /** Whether an action has left a key or the button down. */
  get holds(): boolean {
    return this.button.isDown || !this.keys.isEmpty;
  }

  /** Whether the shown window has opened a file chooser since the last call of `takeChooser`. */
  get choosesFiles(): boolean {
    return this.chooser?.window === this.window;
  }

  /** The file chooser that the shown window has opened since the last call; null if there is none. */
  takeChooser(): FileChooser | null {
    if (!this.choosesFiles) return null;
    const { chooser } = this.chooser!;
    this.chooser = null;
    return chooser;
  }

  /** Notes what has been downloaded since the last call. */
  async noteDownloads(): Promise<void> {
    await this.downloads?.look();
  }

  /** The complete downloads, after those in progress, or after the given time. */
  async downloaded(milliseconds: number): Promise<Download[]> {
    return (await this.downloads?.complete(milliseconds)) ?? [];
  }

  /** Records an outcome for the episode; duplicates are ignored. */
  note(outcome: string): void {
    this.notes.add(outcome);
  }

  /** The outcomes since the last call, joined by commas, or `ok`. */
  takeOutcome(): string {
    const outcome = [...this.notes].join(',') || 'ok';
    this.notes.clear();
    return outcome;
  }

  /** Runs work on the shown window. Returns false if that window closes meanwhile and another one is shown. */
  async unlessClosed(work: () => Promise<void>): Promise<boolean> {
    const { window } = this;
    try {
      await work();
      return true;
    } catch (error) {
      // Errors of the page itself may contain any word.
      if (error instanceof BrowserError || !GONE.test(messageOf(error))) throw error;
      await Promise.race([window.closed, this.failure.within(REASON_MS)]);
      if (this.failure.happened || window === this.window) throw error;
      return false;
    }
  }

  /** Runs work on the shown window, again for the next one whenever that window closes meanwhile. */
  async steadily<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      let result: { value: T } | undefined;
      const isDone = await this.unlessClosed(async () => {
        result = { value: await work() };
      });
      if (isDone) return result!.value;
    }
  }

  /**
   * Runs work on the page until it finishes, the page is gone, or the deadline passes. Throws only `BrowserError`;
   * after `crashed` or `deadline` the page is unusable.
   */
  during<T>({ signal }: Deadline, work: () => Promise<T>): Promise<T> {
    return this.failure.orDone(signal, () => this.explained(work()));
  }

  /** Closes page and context. Never throws. */
  async destroy(): Promise<void> {
    if (this.destroyed) return;
    this.destroyed = true;
    this.network.close();
    await this.lease.release();
    await this.downloads?.end();
  }

  /** A page that is closing fails with many different messages; maps them to one error. */
  private async explained<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (cause) {
      if (cause instanceof BrowserError) throw cause;
      const message = messageOf(cause);
      if (this.failure.happened || this.page.isClosed() || GONE.test(message)) {
        const reason = await this.failure.within(REASON_MS);
        throw reason ?? new BrowserError('crashed', `the page or its browser is gone: ${message}`, { cause });
      }
      throw new BrowserError('page_error', message, { cause });
    }
  }

  /**
   * Set in this session as well: after a screenshot, Chromium restores the screen metrics of the session that took
   * it.
   */
  private async emulate({ cdp }: PageWindow, { deviceScaleFactor }: Device): Promise<void> {
    const { viewport } = this.spec;
    const metrics = { ...viewport, deviceScaleFactor, mobile: false };
    await cdp.send('Emulation.setDeviceMetricsOverride', metrics);
  }

  /** Runs a script in the documents of the tab before the page's own scripts. */
  private async useScript(script: string): Promise<void> {
    await addScript(this.window, script);
    this.scripts.push(script);
  }

  private async allowDownloads(): Promise<void> {
    const { contextId, lease } = this;
    const folder = join(lease.home, 'downloads', randomUUID());
    const note = (outcome: string) => this.note(outcome);
    this.downloads = await Downloads.begin({ session: await lease.session(), contextId, folder, note });
  }

  private async watchDocuments(): Promise<void> {
    await addScript(this.window, WATCH_SCRIPT);
    this.watchOfDocument = new DocumentWatch(this);
  }

  private async watch(context: BrowserContext): Promise<void> {
    this.network.onRefused = (what, isNavigation) => this.refused(what, isNavigation);
    this.network.isWindow = (page) => this.windows.includes(page);
    this.network.onRequest = (request) => this.requests.note(request);
    await Promise.all([this.prepare(this.window), this.network.guard(context)]);
    this.network.onFlood = () => this.flooded();
    this.lease.watchTraffic(this.contextId, () => this.flooded());
  }

  private choosesFile(window: PageWindow, chooser: FileChooser): void {
    if (this.spec.files.length === 0) this.note('file_chooser_blocked');
    else this.chooser = { window, chooser };
  }

  private flooded(): void {
    const message = 'the page floods the browser with messages, requests or windows';
    this.failure.happens(new BrowserError('page_error', message));
  }

  private async prepare(window: PageWindow): Promise<void> {
    const { cdp, page } = window;
    const { device, viewport } = this.spec;
    window.watch({
      note: (outcome) => this.note(outcome),
      failed: (message) => this.log('debug', `${this.spec.url}: ${pageText(message)}`),
      choosesFile: (chooser) => this.choosesFile(window, chooser),
      downloads: () => this.spec.downloads,
      opens: (url) => this.windows.opens(url),
    });
    const [{ targetInfo }] = await Promise.all([
      cdp.send('Target.getTargetInfo'),
      cdp.send('Page.enable'),
      ...this.scripts.map((script) => addScript(window, script)),
    ]);
    const size = page.viewportSize();
    // A page may ask for a window of another size.
    if (size?.width !== viewport.width || size.height !== viewport.height)
      await page.setViewportSize(viewport);
    if (device !== null) await this.emulate(window, device);
    window.targetId = targetInfo.targetId;
    this.contextId = targetInfo.browserContextId!;
    this.lease.watchCrash(targetInfo.targetId, (status) => this.failure.happens(crashOf(status)));
  }

  private closed(): BrowserError {
    return !this.destroyed && this.lease.isAlive()
      ? new BrowserError('page_error', 'the page closed its window', { end: 'page_closed' })
      : new BrowserError('crashed', 'the page or its browser is gone');
  }

  private refused(what: string, isNavigation: boolean): void {
    this.log('debug', `${this.spec.url}: ${pageText(what)}`);
    if (isNavigation) this.note('blocked_navigation');
  }
}

async function addScript({ cdp }: PageWindow, script: string): Promise<void> {
  const source = `if (window === window.top) {\n${script}\n}`;
  await cdp.send('Page.addScriptToEvaluateOnNewDocument', { source });
}
