import { CHECK_RESULTS, isPageCheck, plainText, type CheckResult, type Deadline } from '@ui-rl/plugin-kit';
import { result } from './check-result';
import { checkResults } from './checks';
import { BrowserError } from './errors';
import { pageState, pageText } from './page-text';
import type { BrowserTab } from './browser-tab';

export type State = Record<string, unknown> | null;

/** As reported by the page, which may be false. */
interface Shown {
  url: unknown;
  title: unknown;
}

const MAX_URL = 2_000;
const HAS_STATE = "typeof window.uirl?.state === 'function'";

/**
 * The state for verifiers as reported by the page; address and title for pages without `uirl`.
 *
 * @throws BrowserError if it cannot be read, or is invalid
 */
export async function readState(tab: BrowserTab): Promise<State> {
  const { answers, contract, page } = tab.windows.main;
  if (!contract.state) return shownState(tab);
  const state = await answers.evaluateWhenReady('window.uirl?.state?.()');
  if (typeof state === 'object' && state !== null && !Array.isArray(state)) {
    return pageState(state as Record<string, unknown>);
  }
  const problem = (await answers.evaluate<boolean>(HAS_STATE))
    ? `uirl.state() of ${tab.spec.url} must return an object`
    : `${page.url()} is shown, which has no uirl.state, as ${tab.spec.url} has`;
  throw new BrowserError('page_error', problem);
}

async function shownState(tab: BrowserTab): Promise<State> {
  const shown = await tab.answers.evaluate<Shown>(
    '({ url: location.href.slice(0, 2001), title: document.title.slice(0, 2001) })',
  );
  return { url: pageText(String(shown.url), MAX_URL), title: plainText(pageText(String(shown.title))) };
}

/**
 * The state at the end of an episode, including the results of the task's checks; the page cannot set that key. If a
 * page no longer reports its state, it contains address and title, and no state check holds.
 */
export async function judgedState(tab: BrowserTab, deadline: Deadline): Promise<State> {
  const told = await readState(tab).catch((error: unknown) => {
    if (error instanceof BrowserError && error.end === 'page_error' && !tab.failure.happened) return error;
    throw error;
  });
  const isTold = !(told instanceof BrowserError);
  const state = { ...(isTold ? told : await shownState(tab)) };
  delete state[CHECK_RESULTS];
  const results = { ...(isTold ? {} : noState(tab, told.message)), ...(await checkResults(tab, deadline)) };
  return withResults(state, results);
}

/**
 * The state of a page that can no longer be read: no check holds, not even a negated one, except request checks,
 * which were counted earlier.
 */
export function unreadState(tab: BrowserTab, reason: string): State {
  const { checks } = tab.spec;
  const results = checks.map((check, place): [number, CheckResult] => [
    place,
    check.kind === 'request' ? tab.requests.resultOf(place) : result(false, reason),
  ]);
  return checks.length === 0 ? null : withResults({}, Object.fromEntries(results));
}

function noState({ spec }: BrowserTab, reason: string): Record<number, CheckResult> {
  const places = spec.checks.flatMap((check, place) => (isPageCheck(check) ? [] : [place]));
  return Object.fromEntries(places.map((place) => [place, result(false, reason)]));
}

function withResults(state: Record<string, unknown>, results: Record<number, CheckResult>): State {
  return Object.keys(results).length === 0 ? state : { ...state, [CHECK_RESULTS]: results };
}
