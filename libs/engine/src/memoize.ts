/** Memoizes `make` per key; failures are not cached. */
export function memoize<K, V>(known: Map<K, Promise<V>>, key: K, make: () => Promise<V>): Promise<V> {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make();
  known.set(key, made);
  made.catch(() => {
    if (known.get(key) === made) known.delete(key);
  });
  return made;
}
