import { distance } from 'fastest-levenshtein';

/** Known names close to an unknown one, the nearest first. Of dotted names the last parts are compared, too. */
export function nearest(unknown: string, known: Iterable<string>, limit = 3): string[] {
  const most = Math.max(2, Math.floor(lastName(unknown).length / 3));
  return [...new Set(known)]
    .map((name) => ({ name, distance: distanceOf(unknown, name) }))
    .filter(({ distance }) => distance <= most)
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, limit)
    .map(({ name }) => name);
}

/** ` Did you mean --seed?`, or nothing where no known name is near. */
export function didYouMean(unknown: string, known: Iterable<string>, quote = (name: string) => name): string {
  const names = nearest(unknown, known).map(quote);
  return names.length === 0 ? '' : ` Did you mean ${names.join(' or ')}?`;
}

/** Whole paths are compared, and last names, so that a wrong group is found too. */
function distanceOf(unknown: string, name: string): number {
  const wrongGroup = unknown.includes('.') ? 0.5 : 0;
  return Math.min(distance(unknown, name), distance(lastName(unknown), lastName(name)) + wrongGroup);
}

function lastName(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}
