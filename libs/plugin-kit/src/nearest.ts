import { distance } from 'fastest-levenshtein';

/**
 * Known names similar to an unknown one, the most similar first. For dotted names it also compares the last parts.
 */
export function nearest(unknown: string, known: Iterable<string>, limit = 3): string[] {
  const most = Math.max(2, Math.floor(lastName(unknown).length / 3));
  return [...new Set(known)]
    .map((name) => ({ name, distance: distanceOf(unknown, name) }))
    .filter(({ distance }) => distance <= most)
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, limit)
    .map(({ name }) => name);
}

/** ` Did you mean --seed?`; empty if no known name is similar. */
export function didYouMean(unknown: string, known: Iterable<string>, quote = (name: string) => name): string {
  const names = nearest(unknown, known).map(quote);
  return names.length === 0 ? '' : ` Did you mean ${names.join(' or ')}?`;
}

/** Compares whole paths and last names, so that an option in a wrong group is found, too. */
function distanceOf(unknown: string, name: string): number {
  const wrongGroup = unknown.includes('.') ? 0.5 : 0;
  return Math.min(distance(unknown, name), distance(lastName(unknown), lastName(name)) + wrongGroup);
}

function lastName(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}
