import {
  CHECK_RESULTS,
  compare,
  isPageCheck,
  valueAt,
  type Check,
  type CheckResult,
  type ElementCheck,
  type PageCheck,
  type StorageCheck,
} from '@ui-rl/plugin-kit';
import type { Locator } from 'playwright';
import { messageOf } from './browser-pool';
import type { BrowserTab } from './browser-tab';
import { BrowserError } from './errors';
import { pageText } from './page-text';

/** Elements that one selector is followed to, at some milliseconds each, and how many of them are asked at once. */
const MAX_ELEMENTS = 50;
const AT_ONCE = 10;
/** Longest excerpt of a page in a result. */
const MAX_FOUND = 200;
/** For one question about an element that was just there, in milliseconds. */
const ELEMENT_MS = 1_000;

type Results = Record<string, Record<number, CheckResult>>;

/** What a page says of the checks of its task, as a part of the final state; nothing where the task has none of that kind. */
export async function checkResults(tab: BrowserTab): Promise<Results> {
  const results: Record<number, CheckResult> = {};
  for (const [place, check] of pageChecks(tab.spec.checks))
    results[place] = await evaluate(check, place, tab);
  return Object.keys(results).length === 0 ? {} : { [CHECK_RESULTS]: results };
}

/** Asks the page for every selector once, so that one that nobody can read is told before the episode. @throws BrowserError `bad_task` */
export async function refuseBadSelectors(tab: BrowserTab): Promise<void> {
  for (const [place, check] of pageChecks(tab.spec.checks)) {
    if (check.kind !== 'element') continue;
    await countOf(tab.page.locator(check.selector), `checks.${place}.selector`, check.selector);
  }
}

function pageChecks(checks: readonly Check[]): [number, PageCheck][] {
  return checks.flatMap((check, place): [number, PageCheck][] =>
    isPageCheck(check) ? [[place, check]] : [],
  );
}

async function evaluate(check: PageCheck, place: number, tab: BrowserTab): Promise<CheckResult> {
  switch (check.kind) {
    case 'url': {
      const url = tab.page.url();
      // What follows the path may hold tokens.
      return result(compare(check.operator ?? 'equals', url, check.value), url.replace(/[?#].*$/, ''));
    }
    case 'text': {
      const text = await shownText(tab);
      return result(compare(check.operator ?? 'contains', text, check.value), `${text.length} characters`);
    }
    case 'element':
      return elementResult(check, place, tab);
    case 'storage':
      return storageResult(check, tab);
    case 'request':
      return tab.requests.resultOf(place);
    case 'expression':
      return expressionResult(check, tab);
  }
}

function result(holds: boolean, found: string): CheckResult {
  return { holds, found: pageText(found, MAX_FOUND) };
}

function shownText(tab: BrowserTab): Promise<string> {
  return tab.apart<string>("document.body === null ? '' : document.body.innerText");
}

async function expressionResult(
  { expression, operator = 'equals', value = true }: Extract<PageCheck, { kind: 'expression' }>,
  tab: BrowserTab,
): Promise<CheckResult> {
  try {
    const found = await tab.evaluate<unknown>(`(async () => (${expression}\n))()`);
    return result(compare(operator, found, value), typeof found);
  } catch (error) {
    // Of the page, not of the browser: another page than the one meant is shown, or what it asks for is not there.
    if (error instanceof BrowserError && error.code === 'page_error') return result(false, 'it throws');
    throw error;
  }
}

/** A secret may be stored: whether it is as wanted is all that is told. */
async function storageResult(check: StorageCheck, tab: BrowserTab): Promise<CheckResult> {
  const { path, value, operator = value === undefined ? 'exists' : 'equals' } = check;
  const text = await stored(check, tab);
  const found = path === undefined || text === undefined ? text : valueAt(parsed(text), path);
  return result(compare(operator, found, value), found === undefined ? 'nothing' : 'a value');
}

async function stored({ storage, key }: StorageCheck, tab: BrowserTab): Promise<string | undefined> {
  if (storage === 'cookie') {
    const cookies = await tab.page.context().cookies(tab.page.url());
    return cookies.find(({ name }) => name === key)?.value;
  }
  const item = await tab.apart<string | null>(
    `(() => { try { return ${storage}Storage.getItem(${JSON.stringify(key)}); } catch { return null; } })()`,
  );
  return item ?? undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function elementResult(check: ElementCheck, place: number, tab: BrowserTab): Promise<CheckResult> {
  const { property = 'exists', operator = 'equals', value = true } = check;
  const all = tab.page.locator(check.selector);
  const count = await countOf(all, `checks.${place}.selector`, check.selector);
  const found = `${count} ${count === 1 ? 'element' : 'elements'}`;
  if (property === 'count') {
    const isAsked =
      operator === 'exists' ? compare('equals', count > 0, value) : compare(operator, count, value);
    return result(isAsked, found);
  }
  const read = (element: Locator) => READERS[property](element, check.attribute ?? '');
  const fits = (each: unknown) => (isYesOrNo(property) ? each === true : compare(operator, each, value));
  if (count === 0 && !isYesOrNo(property)) return result(fits(undefined), found);
  // None may be as it is not to be; of the others one that fits is enough.
  const isNegative = !isYesOrNo(property) && NEGATIVE.includes(operator);
  const isFound = await someElement(all, count, async (element) => fits(await read(element)) !== isNegative);
  if (!isFound && count > MAX_ELEMENTS) {
    return result(false, `${found}, of which only the first ${MAX_ELEMENTS} were looked at: it is not known`);
  }
  if (isYesOrNo(property)) {
    // What is no answer does not exist: both ask the same.
    return result(compare(operator === 'exists' ? 'equals' : operator, isFound, value), found);
  }
  return result(isFound !== isNegative, found);
}

/** Whether a question is true of one of the first elements; asked of no more than it takes. */
async function someElement(
  all: Locator,
  count: number,
  isSo: (element: Locator) => Promise<boolean>,
): Promise<boolean> {
  const most = Math.min(count, MAX_ELEMENTS);
  for (let first = 0; first < most; first += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, most - first) }, (_, index) =>
      all.nth(first + index),
    );
    if ((await Promise.all(some.map(isSo))).includes(true)) return true;
  }
  return false;
}

const NEGATIVE: readonly string[] = ['not_equals', 'not_contains'];

function isYesOrNo(property: ElementCheck['property']): boolean {
  return property === 'exists' || property === 'visible' || property === 'checked';
}

type Reader = (element: Locator, attribute: string) => Promise<unknown>;

const READERS: Readonly<Record<Exclude<NonNullable<ElementCheck['property']>, 'count'>, Reader>> = {
  exists: async () => true,
  visible: (element) => element.isVisible(),
  // The text of one that is not drawn is nothing that anybody can read.
  text: async (element) =>
    (await element.isVisible()) ? orUndefined(element.innerText({ timeout: ELEMENT_MS })) : undefined,
  value: (element) => orUndefined(element.inputValue({ timeout: ELEMENT_MS })),
  checked: (element) => orUndefined(element.isChecked({ timeout: ELEMENT_MS })),
  attribute: async (element, name) =>
    (await orUndefined(element.getAttribute(name, { timeout: ELEMENT_MS }))) ?? undefined,
};

/** An element without a value has none, and one that has gone meanwhile neither. A page that is gone ends the session anyway. */
function orUndefined<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch(() => undefined);
}

async function countOf(elements: Locator, where: string, selector: string): Promise<number> {
  try {
    return await elements.count();
  } catch (cause) {
    const message = messageOf(cause).split('\n')[0];
    if (!/while parsing|not a valid|unknown engine|malformed|unexpected/i.test(message)) throw cause;
    throw new BrowserError(
      'bad_task',
      `${where} is ${JSON.stringify(selector)}, expected a selector of Playwright: ${message}`,
      {
        cause,
      },
    );
  }
}
