import type { Survey, Point } from '@ui-rl/plugin-kit';
import type { Response } from 'playwright';
import type { BrowserTab } from './browser-tab';
import { focusWithin, type ToldFocus } from './focus';
import { GLOBALS, PAGE_REPORT } from './survey-script';
import { pageState } from './page-text';

/** The result of the page report script. */
type PageReport = Pick<Survey, 'lines' | 'elements' | 'storage' | 'target'> & { focus: ToldFocus | null };

const MAX_REQUESTS = 500;
const ASKED_FOR_BY_SCRIPTS = new Set(['xhr', 'fetch', 'ping', 'other']);

/**
 * Lists what could be checked on a page, for users who write checks. It costs nothing in episodes without a survey.
 */
export class Surveyor {
  private requests: { method: string; url: string }[] | undefined;

  constructor(private readonly tab: BrowserTab) {}

  /** @param at in screenshot pixels */
  async survey(at: Point | null): Promise<Survey> {
    const { tab } = this;
    this.listen();
    const { scale } = tab.spec;
    const point = at === null ? null : [at[0] / scale, at[1] / scale];
    const report = await tab.answers.apart<PageReport>(`(${PAGE_REPORT})(${JSON.stringify(point)})`);
    return {
      ...report,
      focus: await focusWithin(tab, report.focus),
      url: tab.page.url(),
      isSeeded: tab.contract.reset,
      state: await this.state(),
      globals: await tab.answers.evaluate<Record<string, unknown>>(GLOBALS),
      requests: [...this.requests!],
    };
  }

  stop(): void {
    this.tab.page.context().off('response', this.note);
  }

  /** Starts with the first survey, which precedes the first action. */
  private listen(): void {
    if (this.requests !== undefined) return;
    this.requests = [];
    this.tab.page.context().on('response', this.note);
  }

  private readonly note = (response: Response): void => {
    const request = response.request();
    const isTold = ASKED_FOR_BY_SCRIPTS.has(request.resourceType()) || request.method() !== 'GET';
    if (!isTold || this.requests!.length >= MAX_REQUESTS) return;
    this.requests!.push({ method: request.method(), url: request.url().replace(/[?#].*$/, '') });
  };

  private async state(): Promise<Record<string, unknown> | null> {
    const { answers, contract } = this.tab.windows.main;
    if (!contract.state) return null;
    const state = await answers.evaluate<unknown>('window.uirl?.state?.()');
    return typeof state === 'object' && state !== null && !Array.isArray(state)
      ? pageState(state as Record<string, unknown>)
      : null;
  }
}
