import { createHash } from 'node:crypto';
import { DEADLINES, RETRIES, retry, type Region, type Screenshot } from '@ui-rl/plugin-kit';
import type { CDPSession, Page } from 'playwright';
import { answeredValue, boundedExpression, type BoundedAnswer } from './bounded-answer';
import { messageOf } from './browser-pool';
import { BrowserError } from './errors';
import type { PageSpec } from './page-spec';

const LOST = Symbol('the answer was lost by a navigation');
const NAVIGATION_ERRORS =
  /Inspected target navigated|Not attached to an active page|Unable to capture screenshot|Cannot find (default )?(execution )?context|context was destroyed/i;

/** Messages of calls to a page that is gone. */
export const GONE = /closed|crashed/i;

function lostByNavigation(error: unknown): typeof LOST {
  if (NAVIGATION_ERRORS.test(messageOf(error))) return LOST;
  throw error;
}

/** Evaluates expressions in a page and takes screenshots. Repeats a call if a navigation lost its answer. */
export class PageAnswers {
  private readonly onNavigation = new Set<() => void>();
  /** Questions to page scripts that are not answered yet. */
  private asked = 0;

  constructor(
    private readonly page: Page,
    private readonly cdp: CDPSession,
  ) {}

  /** Whether page scripts still have to answer a question. */
  get isAsked(): boolean {
    return this.asked > 0;
  }

  /** Reports that the main frame shows another document. */
  navigated(): void {
    this.onNavigation.forEach((listener) => listener());
  }

  /** Evaluates an expression in the page and awaits its promise. Throws `BrowserError` with the page's error. */
  async evaluate<T = void>(expression: string): Promise<T> {
    this.asked++;
    try {
      const answer = await this.evaluateIn<BoundedAnswer>(
        async () => undefined,
        boundedExpression(expression),
      );
      return answeredValue(answer) as T;
    } finally {
      this.asked--;
    }
  }

  /** Evaluates in an isolated world: it shares the document, but page scripts cannot replace its functions. */
  async apart<T>(expression: string): Promise<T> {
    return this.evaluateIn<T>(async () => {
      const { frameTree } = await this.cdp.send('Page.getFrameTree');
      const { executionContextId } = await this.cdp.send('Page.createIsolatedWorld', {
        frameId: frameTree.frame.id,
      });
      return executionContextId;
    }, expression);
  }

  private async evaluateIn<T>(world: () => Promise<number | undefined>, expression: string): Promise<T> {
    const reply = await this.afterNavigation(async () => {
      const contextId = await world();
      return this.cdp.send('Runtime.evaluate', {
        expression,
        awaitPromise: true,
        returnByValue: true,
        contextId,
      });
    }).catch((cause: unknown) => {
      // A value that is too large or cannot be serialized is the page's fault; a closed page is explained elsewhere.
      if (GONE.test(messageOf(cause))) throw cause;
      throw new BrowserError('page_error', messageOf(cause), { cause });
    });
    if (reply.exceptionDetails !== undefined) {
      const { exception, text } = reply.exceptionDetails;
      throw new BrowserError('page_error', `the page failed: ${exception?.description ?? text}`);
    }
    return reply.result.value as T;
  }

  /** Evaluates until there is a value: a page that navigates has none for a moment. Null if none appears. */
  async evaluateWhenReady(expression: string): Promise<unknown> {
    const value = await retry(RETRIES.browserState, () => this.evaluate<unknown>(expression), {
      isTransient: () => false,
      isTransientResult: (found) => found === undefined,
      onFailure: () => this.reloaded(),
    });
    return value ?? null;
  }

  /** The page as its spec scales it, or a region of its viewport in the same number of pixels. */
  async screenshot(spec: PageSpec, region: Region | null = null): Promise<Screenshot> {
    const { data } = await this.afterNavigation(() =>
      this.unlessNavigated(this.requestScreenshot(spec, region)),
    );
    const png = Buffer.from(data, 'base64');
    const sha256 = createHash('sha256').update(png).digest('hex');
    return { png, sha256, width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
  }

  private async requestScreenshot(
    { viewport, scale, device }: PageSpec,
    region: Region | null,
  ): Promise<{ data: string }> {
    const options = { format: 'png', optimizeForSpeed: true } as const;
    const own = device?.deviceScaleFactor ?? 1;
    if (scale === own && region === null) return this.cdp.send('Page.captureScreenshot', options);
    // A clip is relative to the document, which may be scrolled.
    const { cssVisualViewport: shown } = await this.cdp.send('Page.getLayoutMetrics');
    const { x, y, width, height } = region ?? { x: 0, y: 0, ...viewport };
    const enlarged = (scale / own) * (viewport.width / width);
    const clip = { x: shown.pageX + x, y: shown.pageY + y, width, height, scale: enlarged };
    return this.cdp.send('Page.captureScreenshot', { ...options, clip });
  }

  /** Calls the page, and repeats the call if a navigation lost the answer. */
  async afterNavigation<T>(call: () => Promise<T | typeof LOST>): Promise<T> {
    const answer = await retry(RETRIES.browserAnswer, () => call().catch(lostByNavigation), {
      isTransient: () => false,
      isTransientResult: (found) => found === LOST,
      onFailure: () => this.reloaded(),
    });
    // The loop ends only with an answer; at the deadline of the step the tab is closed, which rejects the call.
    return answer as T;
  }

  private async reloaded(): Promise<void> {
    const { ms: timeout } = DEADLINES.browserReload;
    await this.page.waitForLoadState('load', { timeout }).catch(() => undefined);
  }

  /** Chromium never answers a screenshot request that is followed by a navigation. */
  private async unlessNavigated<T>(request: Promise<T>): Promise<T | typeof LOST> {
    let resolveLost = () => {};
    const navigated = new Promise<typeof LOST>((resolve) => {
      resolveLost = () => resolve(LOST);
    });
    this.onNavigation.add(resolveLost);
    const timer = setTimeout(resolveLost, DEADLINES.browserScreenshot.ms);
    try {
      return await Promise.race([request, navigated]);
    } finally {
      clearTimeout(timer);
      this.onNavigation.delete(resolveLost);
    }
  }
}
