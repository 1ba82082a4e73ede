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

/** Elements that one selector is followed to. */
const MAX_ELEMENTS = 50;
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
  if (property === 'count') return result(compare(operator, count, value), found);
  const elements = Array.from({ length: Math.min(count, MAX_ELEMENTS) }, (_, index) => all.nth(index));
  const values: unknown[] = [];
  for (const element of elements) values.push(await READERS[property](element, check.attribute ?? ''));
  if (isYesOrNo(property)) return result(compare(operator, values.includes(true), value), found);
  const fits = (each: unknown) => compare(operator, each, value);
  if (values.length === 0) return result(fits(undefined), found);
  // None may be as it is not to be; of the others one that fits is enough.
  return result(NEGATIVE.includes(operator) ? values.every(fits) : values.some(fits), found);
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
