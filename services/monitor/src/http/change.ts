/** How a JSON value becomes another one; null: it stays as it is. */
export type Change =
  null | { value: unknown } | { fields: Record<string, Change>; removed: string[] } | { parts: Part[] };

/** Consecutive elements of a list: those of the old list from a place on, or new ones. */
type Part = { from: number; count: number } | { items: unknown[] };

/** Both values must be results of `JSON.parse`. */
export function changeBetween(old: unknown, next: unknown): Change {
  if (Array.isArray(old) && Array.isArray(next)) return changeOfList(old, next);
  if (isRecord(old) && isRecord(next)) return changeOfRecord(old, next);
  return old === next ? null : { value: next };
}

/** The new value. It shares with the old one what stays as it is. */
export function applyChange(old: unknown, change: Change): unknown {
  if (change === null) return old;
  if ('value' in change) return change.value;
  if ('parts' in change) {
    return change.parts.flatMap((part) =>
      'items' in part ? part.items : (old as unknown[]).slice(part.from, part.from + part.count),
    );
  }
  const fields = Object.entries(old as object).filter(([name]) => !change.removed.includes(name));
  const values = new Map<string, unknown>(fields);
  for (const [name, field] of Object.entries(change.fields)) {
    values.set(name, applyChange(values.get(name), field));
  }
  return Object.fromEntries(values);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function changeOfRecord(old: Record<string, unknown>, next: Record<string, unknown>): Change {
  const fields = Object.entries(next)
    .map(([name, value]): [string, Change] => [
      name,
      Object.hasOwn(old, name) ? changeBetween(old[name], value) : { value },
    ])
    .filter(([, change]) => change !== null);
  const removed = Object.keys(old).filter((name) => !Object.hasOwn(next, name));
  return fields.length === 0 && removed.length === 0 ? null : { fields: Object.fromEntries(fields), removed };
}

/**
 * Finds elements in their old place, or where they have moved to: a list of episodes gets new ones at its start, a
 * curve at its end. Numbers repeat, so that a moved one says nothing.
 */
function changeOfList(old: unknown[], next: unknown[]): Change {
  const texts = old.map((item) => JSON.stringify(item));
  const places = new Map(texts.flatMap((text, place) => (/^["[{]/.test(text) ? [[text, place]] : [])));
  const parts: Part[] = [];
  let expected = 0;
  for (const item of next) {
    const text = JSON.stringify(item);
    const place = texts[expected] === text ? expected : places.get(text);
    addTo(parts, item, place);
    expected = (place ?? expected) + 1;
  }
  const [first] = parts;
  const isSame = parts.length === 1 && 'from' in first && first.from === 0 && first.count === old.length;
  return isSame || (old.length === 0 && next.length === 0) ? null : { parts };
}

/** @param place of the item in the old list, if it has one */
function addTo(parts: Part[], item: unknown, place: number | undefined): void {
  const last = parts.at(-1);
  if (place === undefined) {
    if (last !== undefined && 'items' in last) last.items.push(item);
    else parts.push({ items: [item] });
  } else if (last !== undefined && 'from' in last && last.from + last.count === place) last.count += 1;
  else parts.push({ from: place, count: 1 });
}
