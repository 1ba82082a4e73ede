import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserTab } from './browser-tab';
import { BrowserError } from './errors';

/** How long browser and page have to answer, each for itself, when a deadline has passed: less than an environment may be late. */
const ANSWER_MS = 1_700;

/**
 * Why a page has not answered before its deadline. A page that is busy with itself, or never keeps a promise, while its browser answers at once,
 * has ended its episode itself; everything else is the machine's.
 */
export async function whyLate(tab: BrowserTab, late: BrowserError): Promise<BrowserError> {
  const [browser, page] = await Promise.all([
    answers(tab.cdp.send('Target.getTargetInfo')),
    answers(tab.cdp.send('Runtime.evaluate', { expression: '0' })),
  ]);
  const why = !tab.isCalm
    ? 'it keeps the browser busy with messages or requests'
    : !page
      ? 'it never ends what it does'
      : 'it never keeps a promise that it was asked for';
  // What floods the browser may keep it from answering.
  if (tab.isCalm && (!browser || (page && !tab.isAsked))) return late;
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
