import type { StateCheck } from '@ui-rl/contracts';

/**
 * Judges the state an environment reports at the end of an episode.
 *
 * True where all checks hold, null where there are none. A path that leads nowhere fails its check, whatever the
 * operator, so that a misspelt path never passes. `equals` and `not_equals` compare whole values; `contains` looks for
 * a part of a string, or for an element of a list (an object matches an element that has all of its fields);
 * `at_least` and `at_most` compare numbers.
 */
export function verify(checks: readonly StateCheck[] | undefined, state: unknown): boolean | null {
  if (checks === undefined || checks.length === 0) return null;
  return checks.every((check) => holds(check, valueAt(state, check.path)));
}

/** What a dotted path leads to; undefined where it leads nowhere. */
export function valueAt(state: unknown, path: string): unknown {
  let value = state;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

function holds({ operator, value: wanted }: StateCheck, found: unknown): boolean {
  if (found === undefined) return false;
  switch (operator) {
    case 'equals':
      return same(found, wanted);
    case 'not_equals':
      return !same(found, wanted);
    case 'contains':
      return contains(found, wanted);
    case 'at_least':
      return typeof found === 'number' && typeof wanted === 'number' && found >= wanted;
    case 'at_most':
      return typeof found === 'number' && typeof wanted === 'number' && found <= wanted;
  }
}

function contains(found: unknown, wanted: unknown): boolean {
  if (typeof found === 'string') return typeof wanted === 'string' && found.includes(wanted);
  if (!Array.isArray(found)) return false;
  return found.some((element) => same(element, wanted) || hasFields(element, wanted));
}

function hasFields(element: unknown, wanted: unknown): boolean {
  if (!isPlain(element) || !isPlain(wanted)) return false;
  return Object.entries(wanted).every(
    ([key, value]) => Object.hasOwn(element, key) && same(element[key], value),
  );
}

/** Deep equality of JSON values; the order of keys does not matter. */
function same(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((element, i) => same(element, b[i]));
  }
  if (isPlain(a) && isPlain(b)) return Object.keys(a).length === Object.keys(b).length && hasFields(a, b);
  return a === b;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
