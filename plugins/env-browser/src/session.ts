import {
  CHECK_RESULTS,
  type Action,
  type Deadline,
  type EnvironmentSession,
  type Point,
  type Reply,
  type Screenshot,
  type StepOutcome,
  type Survey,
} from '@ui-rl/plugin-kit';
import { checkResults } from './checks';
import { BrowserError } from './errors';
import { pageState, pageText } from './page-text';
import { observe, type Observing } from './observe';
import { isContinuous, perform } from './perform';
import type { Popups } from './popups/popups';
import type { Recording } from './recording';
import { inCssPixels } from './scale';
import { settle } from './settle';
import { Surveyor } from './survey';
import type { BrowserTab } from './browser-tab';

type State = Record<string, unknown> | null;

/** As a page tells it, which need not be true. */
interface Shown {
  url: unknown;
  title: unknown;
}

const MAX_URL = 2_000;
const MAX_ERROR = 1_000;

/** One episode on a page. */
export class BrowserSession implements EnvironmentSession {
  private over = false;
  private readonly surveyor: Surveyor;

  constructor(
    readonly screenshot: Screenshot,
    readonly state: State,
    private readonly tab: BrowserTab,
    private readonly popups: Popups,
    private readonly observing: Observing,
    private readonly recording: Recording | null,
    /** Takes the page back: for another episode, or to be closed. */
    private readonly giveBack: (tab: BrowserTab, healthy: boolean) => Promise<void>,
  ) {
    this.surveyor = new Surveyor(tab);
  }

  async step(action: Action, deadline: Deadline): Promise<Reply<StepOutcome>> {
    return asReply(() => this.tab.during(deadline, () => this.play(action, deadline)));
  }

  async inspect(deadline: Deadline): Promise<Reply<State>> {
    return asReply(() => this.tab.during(deadline, () => this.judgedState()));
  }

  async survey(at: Point | null, deadline: Deadline): Promise<Reply<Survey>> {
    return asReply(() => this.tab.during(deadline, () => this.surveyor.survey(at)));
  }

  async storageState(deadline: Deadline): Promise<Reply<object>> {
    return asReply(() => this.tab.during(deadline, () => this.tab.page.context().storageState()));
  }

  async close(deadline: Deadline): Promise<Reply<State>> {
    const reply = await asReply(() => this.tab.during(deadline, () => this.judgedState()));
    if (reply.ok) await this.end(true);
    return reply;
  }

  async discard(): Promise<void> {
    await this.end(false);
  }

  /** With what the page says of the checks of its task; under that key a page itself can say nothing. */
  private async judgedState(): Promise<State> {
    const state = { ...(await readState(this.tab)) };
    delete state[CHECK_RESULTS];
    return { ...state, ...(await checkResults(this.tab)) };
  }

  private async end(healthy: boolean): Promise<void> {
    if (this.over) return;
    this.over = true;
    this.surveyor.stop();
    await this.popups.close();
    await this.recording?.end(healthy ? 'the end' : 'the episode was given up, or has failed');
    await this.giveBack(this.tab, healthy);
  }

  private async play(action: Action, deadline: Deadline): Promise<StepOutcome> {
    const { tab, popups, recording } = this;
    recording?.acts(action);
    await perform(tab, popups, inCssPixels(action, tab.spec.scale), deadline);
    await settle(tab, isContinuous(action));
    const screenshot = await observe(tab, popups, this.observing);
    const ended = tab.contract.done && (await tab.evaluate<unknown>('window.uirl?.done?.()')) === true;
    const outcome = tab.takeOutcome();
    recording?.shown(screenshot, outcome);
    return { screenshot, outcome, done: ended || action.action === 'finish' };
  }
}

/** The state that verifiers judge, as the page tells it; where it has none to tell, its address and title. */
export async function readState(tab: BrowserTab): Promise<State> {
  if (!tab.contract.state) {
    const shown = await tab.evaluate<Shown>('({ url: location.href, title: document.title })');
    return { url: pageText(String(shown.url), MAX_URL), title: pageText(String(shown.title)) };
  }
  const state = await tab.evaluateWhenReady('window.uirl?.state?.()');
  if (typeof state === 'object' && state !== null && !Array.isArray(state)) {
    return pageState(state as Record<string, unknown>);
  }
  throw new BrowserError('page_error', `uirl.state() of ${tab.spec.url} must return an object`);
}

/** Failures of the world become values; everything else propagates. */
export async function asReply<T>(work: () => Promise<T>): Promise<Reply<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    if (!(error instanceof BrowserError)) throw error;
    return { ok: false, error: { code: error.code, message: pageText(error.message, MAX_ERROR) } };
  }
}
