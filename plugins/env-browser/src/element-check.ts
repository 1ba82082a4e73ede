import { compare, plainText, type CheckResult, type ElementCheck } from '@ui-rl/plugin-kit';
import type { Locator } from 'playwright';
import { messageOf } from './browser-pool';
import type { BrowserTab } from './browser-tab';
import { result } from './check-result';
import { BrowserError } from './errors';

/** Maximum elements checked per selector, at some milliseconds each, and the number checked concurrently. */
const MAX_ELEMENTS = 50;
const AT_ONCE = 10;
/** Time limit for a query of an element that has just been found, in milliseconds. */
const ELEMENT_MS = 1_000;

const NEGATIVE: readonly string[] = ['not_equals', 'not_contains'];

type Property = NonNullable<ElementCheck['property']>;

/** The property read from each element that a selector matches. */
interface Question {
  all: Locator;
  count: number;
  read: (element: Locator) => Promise<unknown>;
}

/** Evaluates an element check on the page. */
export async function elementResult(
  check: ElementCheck,
  place: number,
  tab: BrowserTab,
): Promise<CheckResult> {
  const { property = 'exists', operator = 'equals', value = true } = check;
  const count = await countOf(check, place, tab);
  const found = inWords(count);
  if (property === 'count') {
    const isAsked =
      operator === 'exists' ? compare('equals', count > 0, value) : compare(operator, count, value);
    return result(isAsked, found);
  }
  const isNegative = NEGATIVE.includes(operator);
  const read = (element: Locator) => READERS[property](element, check.attribute ?? '', isNegative);
  const question = { all: tab.page.locator(check.selector), count, read };
  if (isYesOrNo(property)) {
    // A property without a value counts as false, so both operators agree.
    return yesOrNo(property, question, (is) =>
      compare(operator === 'exists' ? 'equals' : operator, is, value),
    );
  }
  const wanted = property === 'text' && typeof value === 'string' ? plainText(value) : value;
  const fits = (each: unknown) => compare(operator, each, wanted);
  if (count === 0) return result(fits(undefined), found);
  // A negated check requires every element to differ; otherwise one match is enough.
  const isFound = await someElement(question, (each) => fits(each) !== isNegative);
  return isFound || count <= MAX_ELEMENTS ? result(isFound !== isNegative, found) : unknown(count);
}

async function yesOrNo(
  property: Property,
  question: Question,
  fits: (is: boolean) => boolean,
): Promise<CheckResult> {
  const { count } = question;
  const isSo = await someElement(question, (each) => each === true);
  if (!isSo && count > MAX_ELEMENTS) return unknown(count);
  if (isSo || property !== 'checked') return result(fits(isSo), inWords(count));
  // A missing element, or one that cannot be checked, is not `unchecked` either.
  const isOther = count === 0 || (await someElement(question, (each) => each === undefined));
  return isOther
    ? result(false, `${inWords(count)}, not all of which can be checked`)
    : result(fits(false), inWords(count));
}

function inWords(count: number): string {
  return `${count} ${count === 1 ? 'element' : 'elements'}`;
}

function unknown(count: number): CheckResult {
  return result(
    false,
    `${inWords(count)}, of which only the first ${MAX_ELEMENTS} were looked at: it is not known`,
  );
}

/** Whether a predicate holds for any of the first elements; stops at the first match. */
async function someElement(
  { all, count, read }: Question,
  isSo: (found: unknown) => boolean,
): Promise<boolean> {
  const most = Math.min(count, MAX_ELEMENTS);
  for (let first = 0; first < most; first += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, most - first) }, (_, index) =>
      all.nth(first + index),
    );
    if ((await Promise.all(some.map(read))).some(isSo)) return true;
  }
  return false;
}

function isYesOrNo(property: Property): boolean {
  return property === 'exists' || property === 'visible' || property === 'checked';
}

type Reader = (element: Locator, attribute: string, isNegative: boolean) => Promise<unknown>;

const READERS: Readonly<Record<Exclude<Property, 'count'>, Reader>> = {
  exists: async () => true,
  visible: (element) => element.isVisible(),
  text: (element, _, isNegative) => textOf(element, isNegative),
  value: (element) => orUndefined(element.inputValue({ timeout: ELEMENT_MS })),
  checked: (element) => orUndefined(element.isChecked({ timeout: ELEMENT_MS })),
  attribute: async (element, name) =>
    (await orUndefined(element.getAttribute(name, { timeout: ELEMENT_MS }))) ?? undefined,
};

/** Undefined for text that is not rendered, and for a negated check if part of the text cannot be read. */
async function textOf(element: Locator, isNegative: boolean): Promise<string | undefined> {
  if (!(await element.isVisible())) return undefined;
  const text = await orUndefined(element.innerText({ timeout: ELEMENT_MS }));
  return text === undefined || (isNegative && (await holdsMore(element))) ? undefined : plainText(text);
}

/**
 * Whether it contains frames or shadow roots, whose text `innerText` omits. CSS matches inside shadow roots, XPath
 * does not.
 */
async function holdsMore(element: Locator): Promise<boolean> {
  const frames = 'iframe, frame';
  const [isFrame, within, all, outside] = await Promise.all([
    element.and(element.page().locator(frames)).count(),
    element.locator(frames).count(),
    element.locator('css=*').count(),
    element.locator('xpath=.//*').count(),
  ]);
  return isFrame + within > 0 || all > outside;
}

/** Undefined if the element has no value or was removed meanwhile. A closed page ends the session separately. */
function orUndefined<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch(() => undefined);
}

/**
 * The number of elements that a check's selector matches. @throws BrowserError `bad_task` if the selector is invalid
 */
export async function countOf({ selector }: ElementCheck, place: number, tab: BrowserTab): Promise<number> {
  try {
    return await tab.answers.afterNavigation(() => tab.page.locator(selector).count());
  } catch (cause) {
    const message = messageOf(cause).split('\n')[0];
    if (!/while parsing|not a valid|unknown engine|malformed|unexpected/i.test(message)) throw cause;
    throw new BrowserError(
      'bad_task',
      `checks.${place}.selector is ${JSON.stringify(selector)}, expected a selector of Playwright: ${message}`,
      { cause },
    );
  }
}
