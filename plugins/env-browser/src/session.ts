import { setTimeout as sleep } from 'node:timers/promises';
import {
  DEADLINES,
  modifiersOf,
  type Action,
  type Deadline,
  type EnvironmentSession,
  type Point,
  type Reply,
  type Screenshot,
  type StepOutcome,
  type Survey,
  zoomRegion,
} from '@ui-rl/plugin-kit';
import { BrowserError } from './errors';
import { pageText } from './page-text';
import type { PageWindow } from './page-window';
import { observe, type Observing } from './observe';
import { whyLate } from './page-end';
import { isContinuous, isOnScreen, perform } from './perform';
import { withSize } from './popups/overlay';
import type { Popups } from './popups/popups';
import type { Recording } from './recording';
import { inCssPixels } from './scale';
import { settle } from './settle';
import { judgedState, unreadState, type State } from './state';
import { Surveyor } from './survey';
import type { BrowserTab } from './browser-tab';

const MAX_ERROR = 1_000;
/** Time in which the browser reports a file chooser. */
const CHOOSER_MS = 200;

/** One episode on a page. */
export class BrowserSession implements EnvironmentSession {
  private over = false;
  /** How the page ended the episode. */
  private ended: BrowserError | null = null;
  /** The last screenshot. */
  private shown: Screenshot;
  private readonly surveyor: Surveyor;
  /** The window of the last screenshot. */
  private window: PageWindow;

  constructor(
    readonly screenshot: Screenshot,
    readonly state: State,
    private readonly tab: BrowserTab,
    private readonly popups: Popups,
    private readonly observing: Observing,
    private readonly recording: Recording | null,
    /** Returns the page for another episode, or for closing. */
    private readonly giveBack: (tab: BrowserTab, healthy: boolean) => Promise<void>,
  ) {
    this.surveyor = new Surveyor(tab);
    this.shown = screenshot;
    this.window = tab.window;
  }

  async step(action: Action, deadline: Deadline): Promise<Reply<StepOutcome>> {
    return asReply(() =>
      this.unlessEnded(
        deadline,
        () => this.play(action, deadline),
        (end) => this.lastStep(end),
      ),
    );
  }

  async inspect(deadline: Deadline): Promise<Reply<State>> {
    return asReply(() => this.judged(deadline));
  }

  async survey(at: Point | null, deadline: Deadline): Promise<Reply<Survey>> {
    return asReply(() => this.tab.during(deadline, () => this.surveyor.survey(at)));
  }

  async storageState(deadline: Deadline): Promise<Reply<object>> {
    return asReply(() => this.tab.during(deadline, () => this.tab.page.context().storageState()));
  }

  async close(deadline: Deadline): Promise<Reply<State>> {
    const reply = await asReply(() => this.judged(deadline));
    if (reply.ok) await this.end(this.ended === null);
    return reply;
  }

  async discard(): Promise<void> {
    await this.end(false);
  }

  private judged(deadline: Deadline): Promise<State> {
    return this.unlessEnded(
      deadline,
      () => this.tab.steadily(() => judgedState(this.tab, deadline)),
      ({ message }) => unreadState(this.tab, message),
    );
  }

  /**
   * Runs work on the page, or `otherwise` if the page has ended the episode by itself. Throws infrastructure
   * failures.
   */
  private async unlessEnded<T>(
    deadline: Deadline,
    work: () => Promise<T>,
    otherwise: (ended: BrowserError) => T,
  ): Promise<T> {
    // Do not wait again for a page that hung.
    if (this.ended?.end === 'page_hangs') return otherwise(this.ended);
    const { events } = this.tab;
    try {
      return await this.tab.during(deadline, work);
    } catch (cause) {
      if (!(cause instanceof BrowserError)) throw cause;
      const error = cause.code === 'deadline' ? await whyLate(this.tab, cause, events) : cause;
      if (error.end === null) throw error;
      this.ended ??= error;
      return otherwise(error);
    }
  }

  /** Ends the episode with the last observation. */
  private lastStep({ end }: BrowserError): StepOutcome {
    const outcome = end!;
    this.recording?.shown(this.shown, outcome);
    return { screenshot: this.shown, outcome, done: true };
  }

  private async end(healthy: boolean): Promise<void> {
    if (this.over) return;
    this.over = true;
    this.surveyor.stop();
    await this.popups.close();
    await this.recording?.end(healthy ? 'the end' : 'the episode was given up, or has failed');
    await this.giveBack(this.tab, healthy && (await this.released()));
  }

  /** Releases held keys and the button, for the next episode on the page. Returns false if that fails. */
  private async released(): Promise<boolean> {
    if (!this.tab.window.holds) return true;
    const { ms } = DEADLINES.browserClean;
    const deadline = { deadlineAt: Date.now() + ms, signal: AbortSignal.timeout(ms) };
    const reply = await asReply(() => this.tab.during(deadline, () => this.tab.window.releaseAll()));
    return reply.ok;
  }

  /** Waits a moment for a file chooser that a press opens, if the task has files: the browser reports it late. */
  private async chooserOpens(action: Action): Promise<void> {
    const { tab } = this;
    if (tab.spec.files.length === 0 || !/click|press|^key$|^type$|mouse_up/.test(action.action)) return;
    const until = performance.now() + CHOOSER_MS;
    while (!tab.choosesFiles && performance.now() < until) await sleep(CHOOSER_MS / 10);
  }

  private async play(action: Action, deadline: Deadline): Promise<StepOutcome> {
    const { tab, popups, recording } = this;
    recording?.acts(action);
    await tab.unlessClosed(() => perform(tab, popups, inCssPixels(action, tab.spec.scale), deadline));
    const screenshot = await tab.steadily(() => this.observe(action));
    this.shown = screenshot;
    const { contract, answers } = tab.windows.main;
    const ended = contract.done && (await answers.evaluate<unknown>('window.uirl?.done?.()')) === true;
    const outcome = tab.takeOutcome();
    recording?.shown(screenshot, outcome);
    return { screenshot, outcome, done: ended || action.action === 'finish' };
  }

  /** The screen after an action, of the newest window if it has opened one. */
  private async observe(action: Action): Promise<Screenshot> {
    const { tab, popups } = this;
    await settle(tab, isContinuous(action));
    // The browser does not announce a window that opens for held keys.
    if (modifiersOf(action).length > 0 || action.action === 'middle_click' || tab.window.holds)
      tab.windows.mayArrive = true;
    await this.chooserOpens(action);
    await tab.noteDownloads();
    while (await tab.windows.showArrived()) await settle(tab, true);
    if (this.window !== tab.window) {
      this.window = tab.window;
      // The task's page keeps what it has offered, wherever it is.
      if (tab.window !== tab.windows.first) await tab.window.probe();
      await popups.close();
      await this.recording?.follow(tab.cdp);
    }
    const zoom = action.action === 'zoom' ? inCssPixels(action, tab.spec.scale) : null;
    if (zoom === null || !isOnScreen(zoom, tab)) return observe(tab, popups, this.observing);
    const region = zoomRegion(zoom, tab.spec.viewport);
    return withSize(await observe(tab, popups, this.observing, region), this.shown);
  }
}

/** Expected failures become values; all other errors propagate. */
export async function asReply<T>(work: () => Promise<T>): Promise<Reply<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    if (!(error instanceof BrowserError)) throw error;
    return { ok: false, error: { code: error.code, message: pageText(error.message, MAX_ERROR) } };
  }
}
