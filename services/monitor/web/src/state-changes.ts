/** A value of the state that differs; undefined where it is missing. */
export interface StateChange {
  /** Dotted, as in checks: `settings.wifi`. */
  path: string;
  before: unknown;
  after: unknown;
}

/** Leaves of two states that differ, in the order of the first one. */
export function stateChanges(before: unknown, after: unknown): StateChange[] {
  const [old, now] = [leaves(before), leaves(after)];
  return [...new Set([...old.keys(), ...now.keys()])]
    .map((path) => ({ path, before: old.get(path), after: now.get(path) }))
    .filter((change) => JSON.stringify(change.before) !== JSON.stringify(change.after));
}

/** Values by path; an empty list or object is a value. */
function leaves(value: unknown, path = '', found = new Map<string, unknown>()): Map<string, unknown> {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (entries.length === 0 && path !== '') found.set(path, value);
  for (const [key, each] of entries) {
    // Results of page checks, which the list of checks shows.
    if (path === '' && key === '$checks') continue;
    leaves(each, path === '' ? key : `${path}.${key}`, found);
  }
  return found;
}
