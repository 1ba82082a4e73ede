import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserTab } from './browser-tab';
import { BrowserError } from './errors';

/**
 * How long browser and page may each take to answer after a missed deadline; less than the grace period of an
 * environment.
 */
const ANSWER_MS = 1_700;
/**
 * Events of a page, above which the page keeps the browser busy: since the work began, and while it is late, when a
 * page that only waits sends next to none.
 */
const MOST_EVENTS = { sinceBegin: 300, whileLate: 20 };

/**
 * Why a page missed its deadline. If the browser responds and the page is busy or never settles a promise, the page
 * has ended its episode itself; anything else is an infrastructure failure.
 *
 * @param eventsBefore of the tab, before the work began
 */
export async function whyLate(
  tab: BrowserTab,
  late: BrowserError,
  eventsBefore: number,
): Promise<BrowserError> {
  const { events } = tab;
  const hangs = (why: string) =>
    new BrowserError('deadline', `the page did not answer in time: ${why}`, {
      cause: late,
      end: 'page_hangs',
    });
  const busy = () => hangs('it keeps the browser busy with messages or requests');
  const floods = () => !tab.isCalm || tab.events - eventsBefore >= MOST_EVENTS.sinceBegin;
  // Such a page may be what keeps the browser from answering.
  if (floods()) return busy();
  const [browser, page] = await Promise.all([
    answers(tab.cdp.send('Target.getTargetInfo')),
    answers(tab.cdp.send('Runtime.evaluate', { expression: '0' })),
  ]);
  // On a slow machine a flood stays below what counts as one anywhere else.
  if (floods() || tab.events - events >= MOST_EVENTS.whileLate) return busy();
  if (!browser) return late;
  if (!page) return hangs('it never ends what it does');
  return tab.answers.isAsked ? hangs('it never keeps a promise that it was asked for') : late;
}

function answers(asked: Promise<unknown>): Promise<boolean> {
  // An error is an answer, too.
  const answered = asked.then(
    () => true,
    () => true,
  );
  return Promise.race([answered, sleep(ANSWER_MS, false)]);
}
