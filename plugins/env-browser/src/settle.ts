import type { Stage } from './stage';

const TWO_FRAMES = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))';
const ONE_FRAME = 'new Promise((done) => requestAnimationFrame(() => done()))';
/** The page's thread has dealt with the events: a screenshot asked for before that often waits for a second frame. */
const A_TURN = '0';
/** A page that is still loading by then is shown as it is. */
const LOAD_TIMEOUT_MS = 10_000;

/**
 * Waits until the page shows the effect of the last action: its own `uirl.settled()` where it has one. A page with
 * `uirl` is taken to draw within its event handlers, which the screenshot waits for anyway; wheel and movements reach
 * the handlers with the next frame. Any other page gets two frames, and the time to load what it navigates to.
 */
export async function settle(stage: Stage, isContinuous: boolean): Promise<void> {
  if (stage.contract.settled) await stage.evaluate('window.uirl?.settled?.()');
  else if (stage.spec.page === null || !stage.contract.state) await settlePage(stage);
  else await stage.evaluate(isContinuous ? ONE_FRAME : A_TURN);
}

async function settlePage(stage: Stage): Promise<void> {
  const until = Date.now() + LOAD_TIMEOUT_MS;
  do {
    await loaded(stage, until);
    try {
      await stage.evaluate(TWO_FRAMES);
    } catch (error) {
      // A navigation in between takes the page's promise away.
      if (Date.now() >= until) throw error;
    }
  } while (stage.isNavigating && Date.now() < until);
  if (stage.isNavigating) stage.note('still_loading');
}

async function loaded(stage: Stage, until: number): Promise<void> {
  const timeout = Math.max(1, until - Date.now());
  try {
    await stage.page.waitForLoadState('load', { timeout });
  } catch (error) {
    if (Date.now() < until) throw error;
    stage.note('still_loading');
  }
}
