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
  const { isCalm: wasCalm, events } = tab;
  const [browser, page] = await Promise.all([
    answers(tab.cdp.send('Target.getTargetInfo')),
    answers(tab.cdp.send('Runtime.evaluate', { expression: '0' })),
  ]);
  // On a slow machine a flood stays below what counts as one anywhere else.
  const isCalm =
    wasCalm &&
    tab.isCalm &&
    tab.events - events < MOST_EVENTS.whileLate &&
    tab.events - eventsBefore < MOST_EVENTS.sinceBegin;
  const why = !isCalm
    ? 'it keeps the browser busy with messages or requests'
    : !page
      ? 'it never ends what it does'
      : 'it never keeps a promise that it was asked for';
  // A page that floods the browser may be what keeps it from answering.
  if (isCalm && (!browser || (page && !tab.answers.isAsked))) return late;
  return new BrowserError('deadline', `the page did not answer in time: ${why}`, {
    cause: late,
    end: 'page_hangs',
  });
}

function answers(asked: Promise<unknown>): Promise<boolean> {
  // An error is an answer, too.
  const answered = asked.then(
    () => true,
    () => true,
  );
  return Promise.race([answered, sleep(ANSWER_MS, false)]);
}
