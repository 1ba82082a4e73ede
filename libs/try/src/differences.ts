import { isRecord } from '@ui-rl/plugin-kit';

/** A new or changed value. */
export interface Difference {
  path: readonly (string | number)[];
  /** `element`: in the list at the path; `value`: at the path. */
  kind: 'value' | 'element';
  value: unknown;
}

const MAX_DIFFERENCES = 60;

/**
 * The values that are new or changed, as small parts: plain values at their paths, and elements that no list had
 * before. Removed values are not reported.
 */
export function differences(before: unknown, after: unknown): Difference[] {
  return [...differ(before, after, [])].slice(0, MAX_DIFFERENCES);
}

function* differ(before: unknown, after: unknown, path: Difference['path']): Generator<Difference> {
  if (same(before, after)) return;
  if (Array.isArray(after)) yield* inList(Array.isArray(before) ? before : [], after, path);
  else if (isRecord(after)) {
    for (const [key, value] of Object.entries(after))
      yield* differ(isRecord(before) ? before[key] : undefined, value, [...path, key]);
  } else yield { path, kind: 'value', value: after };
}

/** A list of the same length has changed elements; a longer one has new elements. */
function* inList(
  before: readonly unknown[],
  after: readonly unknown[],
  path: Difference['path'],
): Generator<Difference> {
  if (before.length === after.length) {
    for (const [place, value] of after.entries()) yield* differ(before[place], value, [...path, place]);
    return;
  }
  const fresh = after.filter((value) => !before.some((each) => same(each, value)));
  for (const value of fresh) yield { path, kind: 'element', value };
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
