import type { CDPSession, Dialog, FileChooser, Page, Request } from 'playwright';
import { HeldButton } from './held-button';
import { HeldKeys } from './held-keys';
import { PageAnswers } from './page-answers';

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

/** Receives the reports of a window. */
export interface WindowEvents {
  note(outcome: string): void;
  failed(message: string): void;
  choosesFile(chooser: FileChooser): void;
  /** Whether the page may download files. */
  downloads(): boolean;
  /** The page opens another window, which the browser reports a moment later. */
  opens(url: string): void;
}

/** One window of a tab: a page with its session and input devices. */
export class PageWindow {
  contract: PageContract = NO_CONTRACT;
  /** Documents loaded in the main frame since the last count. */
  navigations = 0;
  /** The environment closes it. */
  isClosing = false;
  /** The browser's id of the page. */
  targetId = '';
  readonly answers: PageAnswers;
  readonly keys: HeldKeys;
  readonly button: HeldButton;
  /** Resolves when the window is closed. */
  readonly closed: Promise<void>;
  private readonly pending = new Set<Request>();

  constructor(
    readonly page: Page,
    readonly cdp: CDPSession,
    /** The window that opened it; null for the first one. */
    readonly opener: PageWindow | null,
  ) {
    this.answers = new PageAnswers(page, cdp);
    this.keys = new HeldKeys(page.keyboard);
    this.button = new HeldButton(page.mouse);
    this.closed = new Promise((resolve) => page.once('close', () => resolve()));
  }

  get isNavigating(): boolean {
    return this.pending.size > 0;
  }

  /** Asks the page for its contract; the document must be loaded. */
  async probe(): Promise<void> {
    this.contract = await this.answers.evaluate<PageContract>(PROBE);
  }

  /** Whether an action has left a key or the button down. */
  get holds(): boolean {
    return this.button.isDown || !this.keys.isEmpty;
  }

  async releaseAll(): Promise<void> {
    await this.button.release();
    await this.keys.releaseAll();
  }

  watch(events: WindowEvents): void {
    const { page } = this;
    page.on('dialog', (dialog) => answer(dialog, events));
    page.on('download', (download) => {
      if (events.downloads()) return;
      events.note('download_blocked');
      download.cancel().catch(() => undefined);
    });
    // Arrives before the window itself, so in time for the step that opened it.
    this.cdp.on('Page.windowOpen', ({ url }) => events.opens(url));
    page.on('filechooser', (chooser) => events.choosesFile(chooser));
    page.on('pageerror', (error) => events.failed(error.message));
    page.on('console', (message) => {
      // Navigation to `file:` and `data:` never becomes a request; the browser only logs the refusal.
      if (/^Not allowed to (load local resource|navigate top frame)/.test(message.text()))
        events.note('blocked_navigation');
    });
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
}

function answer(dialog: Dialog, events: WindowEvents): void {
  // An action that leaves the page means to leave it: accept `beforeunload`.
  const isLeave = dialog.type() === 'beforeunload';
  events.note(isLeave ? 'leave_confirmed' : 'dialog_dismissed');
  (isLeave ? dialog.accept() : dialog.dismiss()).catch(() => undefined);
}
