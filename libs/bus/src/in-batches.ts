/** Requests that are under way at a time, where one is sent for each of many things. */
const AT_ONCE = 50;

/** What becomes of each, in their order; not all are under way at a time. */
export async function inBatches<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE) {
    results.push(...(await Promise.all(items.slice(from, from + AT_ONCE).map(work))));
  }
  return results;
}
