import { DEADLINES } from '@ui-rl/plugin-kit';
import type { BrowserTab } from './browser-tab';

const TWO_FRAMES = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))';
const ONE_FRAME = 'new Promise((done) => requestAnimationFrame(() => done()))';
/**
 * Waits for the page's main thread to handle pending events: an earlier screenshot would often wait for a second
 * frame.
 */
const A_TURN = '0';

/**
 * Waits until the page shows the effect of the last action, by its own `uirl.settled()` if it has one. A page with
 * `uirl` is assumed to draw within its event handlers, which the screenshot waits for anyway; wheel and move events
 * reach the handlers with the next frame. Any other page gets two frames, and the time to load if it navigates.
 */
export async function settle(tab: BrowserTab, isContinuous: boolean): Promise<void> {
  if (tab.contract.settled) await tab.answers.evaluate('window.uirl?.settled?.()');
  else if (tab.spec.page === null || !tab.contract.state) await settlePage(tab);
  else await tab.answers.evaluate(isContinuous ? ONE_FRAME : A_TURN);
}

async function settlePage(tab: BrowserTab): Promise<void> {
  const until = performance.now() + DEADLINES.browserLoad.ms;
  do {
    await loaded(tab, until);
    try {
      await tab.answers.evaluate(TWO_FRAMES);
    } catch (error) {
      // A navigation during the call rejects the page's promise.
      if (performance.now() >= until) throw error;
    }
  } while (tab.isNavigating && performance.now() < until);
  if (tab.isNavigating) tab.note('still_loading');
}

async function loaded(tab: BrowserTab, until: number): Promise<void> {
  const timeout = Math.max(1, until - performance.now());
  try {
    await tab.page.waitForLoadState('load', { timeout });
  } catch (error) {
    if (performance.now() < until) throw error;
    tab.note('still_loading');
  }
}
