/** Known names close to an unknown one, the nearest first. */
export function nearest(unknown: string, known: readonly string[], limit = 3): string[] {
  const scored = known.map((name) => ({ name, distance: distanceOf(unknown, name) }));
  const most = Math.max(2, Math.floor(lastName(unknown).length / 3));
  return scored
    .filter(({ distance }) => distance <= most)
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, limit)
    .map(({ name }) => name);
}

/** Whole paths are compared, and last names, so that a wrong group is found too. */
function distanceOf(unknown: string, name: string): number {
  const wrongGroup = unknown.includes('.') ? 0.5 : 0;
  return Math.min(editDistance(unknown, name), editDistance(lastName(unknown), lastName(name)) + wrongGroup);
}

function lastName(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

/** Levenshtein distance. */
export function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const substitution = previous[column - 1] + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(previous[column] + 1, current[column - 1] + 1, substitution));
    }
    previous = current;
  }
  return previous[b.length];
}
