import { isRecord } from '@ui-rl/plugin-kit';

/** Something that is there now and was not, or was another one. */
export interface Difference {
  path: readonly (string | number)[];
  /** `element`: in the list that the path leads to; `value`: at the path. */
  kind: 'value' | 'element';
  value: unknown;
}

const MAX_DIFFERENCES = 60;

/**
 * What has come to be or changed between two values, as small parts: plain values where they stand, and elements of lists that no list had
 * before. What is gone is told of nothing.
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

/** A list of the same length has changed in its elements; a longer one has new elements. */
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
