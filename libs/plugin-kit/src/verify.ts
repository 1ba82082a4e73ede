import { CHECK_RESULTS, isPageCheck, type Check, type CheckOperator } from '@ui-rl/contracts';
import { answerHolds } from './answers';
import { PluginError } from './errors';
import { isRecord } from './show';

/**
 * Judges the state that an environment reports at the end of an episode.
 *
 * Returns true if all checks hold, null if there are none. A missing path fails its check, so that a misspelt path
 * never passes, except for `exists`. Checks of a page were evaluated by the environment, which reports the results
 * under `CHECK_RESULTS`, including the case that a state could not be read.
 *
 * @throws PluginError `invalid` if an environment has not evaluated a check: that says nothing about the policy
 */
export function verify(
  checks: readonly Check[] | undefined,
  state: unknown,
  /** of the agent, see `answerOf` */
  answer?: string,
): boolean | null {
  if (checks === undefined || checks.length === 0) return null;
  const holds = checks.map((check, place) => checkHolds(check, place, state, answer));
  // Examine all of them: a missing result means no verdict, wherever it is.
  const missing = holds.indexOf(null);
  if (missing >= 0) {
    throw new PluginError(
      'invalid',
      `checks.${missing} is of kind "${checks[missing].kind}", which the environment of the task has not evaluated: that kind is for pages`,
    );
  }
  return holds.every((each) => each === true);
}

/**
 * Whether the check at that index holds: by the environment's result for page checks, and for a state check whose
 * state could not be read; else by the state. Null if only the environment could decide, and it has not.
 */
export function checkHolds(check: Check, place: number, state: unknown, answer?: string): boolean | null {
  if (check.kind === 'answer') return answerHolds(check, answer);
  const results = isRecord(state) ? state[CHECK_RESULTS] : undefined;
  const result: unknown = isRecord(results) ? results[place] : undefined;
  if (isRecord(result) && typeof result.holds === 'boolean') return result.holds;
  return isPageCheck(check) ? null : compare(check.operator, valueAt(state, check.path), check.value);
}

/** The value at a dotted path; undefined if the path does not exist. */
export function valueAt(state: unknown, path: string): unknown {
  let value = state;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

/**
 * Whether a value satisfies a check. `equals` and `not_equals` compare whole values; `contains` looks for a part of a
 * string, or for an element of a list (an object matches an element that has all of its fields); `matches` is a text
 * with `*` as wildcard; `at_least` and `at_most` compare numbers. Undefined satisfies only `exists: false`. Texts are
 * compared in Unicode NFC, so that differently composed accents are equal.
 */
export function compare(operator: CheckOperator, found: unknown, wanted: unknown): boolean {
  if (operator === 'exists') return (found !== undefined) === (wanted ?? true);
  if (found === undefined) return false;
  switch (operator) {
    case 'equals':
      return same(found, wanted);
    case 'not_equals':
      return !same(found, wanted);
    case 'contains':
      return contains(found, wanted);
    case 'not_contains':
      return !contains(found, wanted);
    case 'matches':
      return typeof found === 'string' && typeof wanted === 'string' && matches(nfc(found), nfc(wanted));
    case 'at_least':
      return typeof found === 'number' && typeof wanted === 'number' && found >= wanted;
    case 'at_most':
      return typeof found === 'number' && typeof wanted === 'number' && found <= wanted;
  }
}

/** Whether an object has all fields of another one, with the same values. */
export function hasFields(element: unknown, wanted: unknown): boolean {
  if (!isPlain(element) || !isPlain(wanted)) return false;
  return Object.entries(wanted).every(
    ([key, value]) => Object.hasOwn(element, key) && same(element[key], value),
  );
}

/** Matches part by part, in time linear in the text; a regular expression might never end. */
function matches(text: string, pattern: string): boolean {
  const parts = pattern.split('*');
  if (parts.length === 1) return text === pattern;
  const [first, last] = [parts[0], parts.at(-1)!];
  if (text.length < first.length + last.length) return false;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  const end = text.length - last.length;
  let from = first.length;
  for (const part of parts.slice(1, -1)) {
    const at = text.indexOf(part, from);
    if (at < 0 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}

function contains(found: unknown, wanted: unknown): boolean {
  if (typeof found === 'string') return typeof wanted === 'string' && nfc(found).includes(nfc(wanted));
  if (!Array.isArray(found)) return false;
  return found.some((element) => same(element, wanted) || hasFields(element, wanted));
}

/** Deep equality of JSON values, ignoring the order of keys. */
function same(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((element, i) => same(element, b[i]));
  }
  if (isPlain(a) && isPlain(b)) return Object.keys(a).length === Object.keys(b).length && hasFields(a, b);
  return typeof a === 'string' && typeof b === 'string' ? nfc(a) === nfc(b) : a === b;
}

function nfc(text: string): string {
  return text.normalize('NFC');
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
