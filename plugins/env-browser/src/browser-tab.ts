import { readFile } from 'node:fs/promises';
import { type Deadline, type Screenshot } from '@ui-rl/plugin-kit';
import type { BrowserContext, CDPSession, Page, Request } from 'playwright';
import { lookOf, storedOf } from './context-options';
import type { Device } from './device';
import { DocumentWatch } from './in-place/document-watch';
import { WATCH_SCRIPT } from './in-place/watch-script';
import { BrowserError } from './errors';
import { HeldButton } from './held-button';
import { HeldKeys } from './held-keys';
import { messageOf, type BrowserPool, type Lease } from './browser-pool';
import { MOST_REQUESTS, PageNetwork } from './network';
import { GONE, PageAnswers } from './page-answers';
import { refusalOf, type PageRules, type PageSpec } from './page-spec';
import { pageText } from './page-text';
import { RequestTally } from './request-tally';
import { crashOf, TabFailure } from './tab-failure';

/** The functions of `window.uirl` that a page may offer to the environment. */
export interface PageContract {
  reset: boolean;
  state: boolean;
  settled: boolean;
  button: boolean;
  done: boolean;
}

const NO_CONTRACT: PageContract = { reset: false, state: false, settled: false, button: false, done: false };

const PROBE = `(() => {
  const has = (name) => typeof window.uirl === 'object' && window.uirl !== null && typeof window.uirl[name] === 'function';
  return { reset: has('reset'), state: has('state'), settled: has('settled'), button: has('button'), done: has('done') };
})()`;

export type TabLog = (level: 'debug' | 'info' | 'warn' | 'error', message: string) => void;

/** How long to wait for the cause after the browser has reported that a page is gone. */
const REASON_MS = 1_000;

/** Maximum unanswered requests between two steps: those that a browser sends by itself, plus a margin. */
const CALM_REQUESTS = 16;

/** One page in its own context. Collects the outcomes of steps; a crash or a closed page is a rejected promise. */
export class BrowserTab {
  contract: PageContract = NO_CONTRACT;
  /** Requests since the first frame, if the task checks requests. */
  requests = new RequestTally();
  /** The tab was cleaned and has shown no page since. */
  isEmpty = false;
  /** Documents loaded in the main frame since the last `load`. */
  private navigations = 0;
  /** The browser's id of its context. */
  contextId = '';
  private readonly pending = new Set<Request>();
  private readonly notes = new Set<string>();
  readonly failure = new TabFailure();
  readonly answers: PageAnswers;
  readonly keys: HeldKeys;
  readonly button: HeldButton;
  /** For pages that are reset in place: decides whether a reset is possible. */
  private watchOfDocument: DocumentWatch | null = null;
  private destroyed = false;

  private constructor(
    public spec: PageSpec,
    readonly page: Page,
    readonly cdp: CDPSession,
    private readonly lease: Lease,
    private readonly network: PageNetwork,
    private readonly log: TabLog,
  ) {
    this.answers = new PageAnswers(page, cdp);
    this.keys = new HeldKeys(page.keyboard);
    this.button = new HeldButton(page.mouse);
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
      const tab = new BrowserTab(spec, page, cdp, lease, network, log);
      await tab.watch(lease.context);
      if (spec.device !== null) await tab.emulate(spec.device);
      if (rules.resetsInPlace === true) await tab.watchDocuments();
      if (spec.script !== null) await tab.addScript(await readFile(rules.scripts[spec.script], 'utf8'));
      return tab;
    } catch (cause) {
      network.close();
      await lease.release();
      if (cause instanceof BrowserError) throw cause;
      throw new BrowserError('crashed', `the browser could not open a page: ${messageOf(cause)}`, { cause });
    }
  }

  /**
   * Whether the page can be reset in place for another episode: it supports reset and is still the page that was
   * loaded.
   */
  get resettable(): boolean {
    const isOwn = this.spec.script === null || this.watchOfDocument !== null;
    return this.isLocal && isOwn && this.contract.reset && this.navigations <= 1;
  }

  /** Whether it can be cleaned and reused for another page of the same origin: it has visited no other origin. */
  get cleanable(): boolean {
    return this.isLocal && this.spec.origins.size === 1;
  }

  private get isLocal(): boolean {
    // Stored login state belongs to one episode.
    return (
      this.spec.page !== null && this.spec.storageState === null && !this.failure.happened && !this.destroyed
    );
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
    return this.pending.size > 0;
  }

  async load(): Promise<void> {
    this.navigations = 0;
    this.isEmpty = false;
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
    this.contract = await this.answers.evaluate<PageContract>(PROBE);
    this.watchOfDocument?.renew();
  }

  /** Resets page and pointer to the initial state of an episode. */
  async reset(seed: number): Promise<void> {
    await this.cdp.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x: 0, y: 0 });
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

  capture(): Promise<Screenshot> {
    return this.answers.screenshot(this.spec);
  }

  /** Whether an action has left a key or the button down. */
  get holds(): boolean {
    return this.button.isDown || !this.keys.isEmpty;
  }

  async releaseAll(): Promise<void> {
    await this.button.release();
    await this.keys.releaseAll();
  }

  /** Notes a window that a click with held keys has opened, which the browser reports only after a while. */
  async noteWindow(): Promise<void> {
    const { targetInfos } = await this.cdp.send('Target.getTargets', { filter: [{ type: 'page' }] });
    const own = targetInfos.filter(({ browserContextId }) => browserContextId === this.contextId);
    if (own.length > 1) this.note('popup_blocked');
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
  private async emulate({ deviceScaleFactor }: Device): Promise<void> {
    const { viewport } = this.spec;
    const metrics = { ...viewport, deviceScaleFactor, mobile: false };
    await this.cdp.send('Emulation.setDeviceMetricsOverride', metrics);
  }

  /** Runs a script in every document of the tab before the page's own scripts. */
  private async addScript(script: string): Promise<void> {
    const source = `if (window === window.top) {\n${script}\n}`;
    await this.cdp.send('Page.addScriptToEvaluateOnNewDocument', { source });
  }

  private async watchDocuments(): Promise<void> {
    await this.addScript(WATCH_SCRIPT);
    this.watchOfDocument = new DocumentWatch(this);
  }

  private async watch(context: BrowserContext): Promise<void> {
    this.watchPage(context);
    this.watchNavigation();
    this.network.onRefused = (what, isNavigation) => this.refused(what, isNavigation);
    this.network.onRequest = (request) => this.requests.note(request);
    const [{ targetInfo }] = await Promise.all([
      this.cdp.send('Target.getTargetInfo'),
      this.cdp.send('Page.enable'),
      this.network.guard(context),
    ]);
    this.contextId = targetInfo.browserContextId!;
    const onFlood = () =>
      this.failure.happens(
        new BrowserError('page_error', 'the page floods the browser with messages or requests'),
      );
    this.network.onFlood = onFlood;
    this.lease.watchTraffic(this.contextId, onFlood);
    this.lease.watchCrash(targetInfo.targetId, (status) => this.failure.happens(crashOf(status)));
  }

  private watchPage(context: BrowserContext): void {
    const { page } = this;
    page.on('close', () => this.failure.happens(this.closed()));
    page.on('dialog', (dialog) => {
      // An action that leaves the page means to leave it: accept `beforeunload`.
      const isLeave = dialog.type() === 'beforeunload';
      this.note(isLeave ? 'leave_confirmed' : 'dialog_dismissed');
      (isLeave ? dialog.accept() : dialog.dismiss()).catch(() => undefined);
    });
    page.on('download', (download) => {
      this.note('download_blocked');
      download.cancel().catch(() => undefined);
    });
    // Arrives before the popup itself, so in time for the step that opened it.
    this.cdp.on('Page.windowOpen', () => this.note('popup_blocked'));
    page.on('filechooser', () => this.note('file_chooser_blocked'));
    page.on('pageerror', (error) => this.log('debug', `${this.spec.url}: ${pageText(error.message)}`));
    page.on('console', (message) => this.noteNavigationRefusal(message.text()));
    context.on('page', (popup) => {
      if (popup !== page) popup.close().catch(() => undefined);
    });
  }

  private closed(): BrowserError {
    return !this.destroyed && this.lease.isAlive()
      ? new BrowserError('page_error', 'the page closed its window', { end: 'page_closed' })
      : new BrowserError('crashed', 'the page or its browser is gone');
  }

  private watchNavigation(): void {
    const { page } = this;
    page.on('request', (request) => {
      if (request.isNavigationRequest() && request.frame() === page.mainFrame()) this.pending.add(request);
    });
    page.on('requestfinished', (request) => this.pending.delete(request));
    page.on('requestfailed', (request) => this.pending.delete(request));
    page.on('framenavigated', (frame) => {
      if (frame !== page.mainFrame()) return;
      this.navigations++;
      this.answers.navigated();
    });
  }

  private refused(what: string, isNavigation: boolean): void {
    this.log('debug', `${this.spec.url}: ${pageText(what)}`);
    if (isNavigation) this.note('blocked_navigation');
  }

  /** Navigation to `file:` and `data:` never becomes a request; the browser only logs the refusal. */
  private noteNavigationRefusal(text: string): void {
    if (/^Not allowed to (load local resource|navigate top frame)/.test(text))
      this.note('blocked_navigation');
  }
}
