import { PluginError } from '../errors';
import type { TaskList } from './task-list';

/**
 * Prerequisites of tasks, by index.
 *
 * @throws PluginError `option` for an unknown id, and for a cycle
 */
export async function prerequisitesOf(
  required: ReadonlyMap<number, readonly string[]>,
  tasks: Pick<TaskList, 'at' | 'placeOf'>,
): Promise<Map<number, number[]>> {
  const places = new Map<number, number[]>();
  for (const [place, ids] of required) {
    const before = await Promise.all(ids.map((id) => tasks.placeOf(id)));
    const unknown = before.indexOf(undefined);
    if (unknown >= 0) {
      const { id } = await tasks.at(place);
      throw new PluginError(
        'option',
        `tasks: prerequisites of "${id}" names "${ids[unknown]}", which is none of the tasks`,
      );
    }
    places.set(place, before as number[]);
  }
  const circle = findCircle(places);
  if (circle === undefined) return places;
  const ids = await Promise.all(circle.map(async (place) => `"${(await tasks.at(place)).id}"`));
  throw new PluginError('option', `tasks: prerequisites go in a circle: ${ids.join(' needs ')}`);
}

/** A cycle of indices; iterative, because there may be many. */
function findCircle(places: ReadonlyMap<number, readonly number[]>): number[] | undefined {
  const done = new Set<number>();
  for (const start of places.keys()) {
    const path: { place: number; next: number }[] = [{ place: start, next: 0 }];
    while (path.length > 0) {
      const top = path.at(-1)!;
      const before = places.get(top.place) ?? [];
      if (done.has(top.place) || top.next >= before.length) {
        done.add(top.place);
        path.pop();
        continue;
      }
      const place = before[top.next++];
      const from = path.findIndex((each) => each.place === place);
      if (from >= 0) return [...path.slice(from).map((each) => each.place), place];
      path.push({ place, next: 0 });
    }
  }
  return undefined;
}
