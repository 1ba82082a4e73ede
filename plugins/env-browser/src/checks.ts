import { setTimeout as sleep } from 'node:timers/promises';
import {
  compare,
  isPageCheck,
  plainText,
  valueAt,
  type Check,
  type CheckResult,
  type Deadline,
  type PageCheck,
  type StorageCheck,
} from '@ui-rl/plugin-kit';
import { compareAddress } from './address-check';
import type { BrowserTab } from './browser-tab';
import { result } from './check-result';
import { downloadResult } from './download-check';
import { countOf, elementResult } from './element-check';
import { shownText } from './shown-text';

const LATE = Symbol('it does not answer in time');
const UNREADABLE = Symbol('it cannot be read');

type Results = Record<number, CheckResult>;

/** Evaluates the task's checks on the page, by their index. */
export async function checkResults(tab: BrowserTab, deadline: Deadline): Promise<Results> {
  const results: Results = {};
  for (const [place, check] of pageChecks(tab.spec.checks)) {
    results[place] = await evaluate(check, place, tab, deadline);
  }
  return results;
}

/**
 * Resolves every selector once, so that an invalid selector fails before the episode starts. @throws BrowserError
 * `bad_task`
 */
export async function refuseBadSelectors(tab: BrowserTab): Promise<void> {
  for (const [place, check] of pageChecks(tab.spec.checks)) {
    if (check.kind !== 'element') continue;
    await countOf(check, place, tab);
  }
}

function pageChecks(checks: readonly Check[]): [number, PageCheck][] {
  return checks.flatMap((check, place): [number, PageCheck][] =>
    isPageCheck(check) ? [[place, check]] : [],
  );
}

async function evaluate(
  check: PageCheck,
  place: number,
  tab: BrowserTab,
  deadline: Deadline,
): Promise<CheckResult> {
  switch (check.kind) {
    case 'url': {
      const url = tab.page.url();
      // Query and fragment may contain tokens.
      const found = url.replace(/[?#].*$/, '');
      return result(compareAddress(check.operator ?? 'equals', url, check.value), found);
    }
    case 'text':
      return textResult(check, tab);
    case 'element':
      return elementResult(check, place, tab);
    case 'storage':
      return storageResult(check, tab);
    case 'request':
      return tab.requests.resultOf(place);
    case 'download':
      return downloadResult(check, await tab.downloaded((deadline.deadlineAt - Date.now()) / 2));
    case 'expression':
      return expressionResult(check, tab, deadline);
  }
}

async function textResult(
  { operator = 'contains', value }: Extract<PageCheck, { kind: 'text' }>,
  tab: BrowserTab,
): Promise<CheckResult> {
  const { text, isWhole } = await shownText(tab);
  const holds = compare(operator, text, plainText(value));
  const found = `${text.length} characters`;
  // If some frames already satisfy `contains`, all frames do.
  if (isWhole || (operator === 'contains' && holds)) return result(holds, found);
  return result(false, `${found}, and a frame that could not be read: it is not known`);
}

async function expressionResult(
  { expression, operator = 'equals', value = true }: Extract<PageCheck, { kind: 'expression' }>,
  tab: BrowserTab,
  { deadlineAt }: Deadline,
): Promise<CheckResult> {
  const late = new AbortController();
  const asked = tab.answers.evaluate<unknown>(`(async () => (${expression}\n))()`);
  asked.catch(() => undefined);
  try {
    // Leave time for the other checks.
    const patience = sleep(Math.max(0, (deadlineAt - Date.now()) / 2), LATE, { signal: late.signal });
    const found = await Promise.race([asked, patience]);
    if (found === LATE) return result(false, 'it does not answer in time');
    return result(compare(operator, found, value), typeof found);
  } catch (error) {
    // A failure of the page, not of the browser: another page is shown, or the requested object is missing.
    if (!tab.failure.happened && !tab.page.isClosed()) return result(false, 'it throws');
    throw error;
  } finally {
    late.abort();
  }
}

/** Stored values may be secret, so the result only says whether the value matches. */
async function storageResult(check: StorageCheck, tab: BrowserTab): Promise<CheckResult> {
  const { path, value, operator = value === undefined ? 'exists' : 'equals' } = check;
  const text = await stored(check, tab);
  if (text === UNREADABLE) return result(false, 'nothing can be stored where the page is');
  // Unless compared with text, the value is parsed as JSON, since numbers and lists are stored that way.
  const isJson = path !== undefined || (operator !== 'exists' && typeof value !== 'string');
  const whole = text === undefined || !isJson ? text : parsed(text);
  if (whole === UNREADABLE) return result(false, 'a value that is not JSON');
  const found = path === undefined ? whole : valueAt(whole, path);
  return result(compare(operator, found, value), found === undefined ? 'nothing' : 'a value');
}

async function stored(
  { storage, key }: StorageCheck,
  tab: BrowserTab,
): Promise<string | undefined | typeof UNREADABLE> {
  if (storage === 'cookie') {
    const url = tab.page.url();
    if (!/^https?:/.test(url)) return UNREADABLE;
    const cookies = await tab.page.context().cookies(url);
    return cookies.find(({ name }) => name === key)?.value;
  }
  const [item] = await tab.answers.apart<[string | null] | []>(
    `(() => { try { return [${storage}Storage.getItem(${JSON.stringify(key)})]; } catch { return []; } })()`,
  );
  return item === undefined ? UNREADABLE : (item ?? undefined);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return UNREADABLE;
  }
}
