import type { Point } from '@ui-rl/plugin-kit';
import type { CDPSession } from 'playwright';
import type { AxDocument, DocumentLine } from './ax-frames';
import { PLACES, THROUGH_FRAME } from './places-script';

/** What the browser calls the nodes that places are asked of. */
const GROUP = 'uirl-places';

type Places = (Point | null)[];

/** Where an action would reach each element, in CSS pixels of the screen; null where none would: it is not shown, or something lies over it. */
export async function placesOf(lines: readonly DocumentLine[]): Promise<Places> {
  const found: Places = lines.map(() => null);
  for (const document of new Set(lines.map((line) => line.document))) {
    const indexes = [...lines.keys()].filter((index) => lines[index].document === document);
    const ids = indexes.map((index) => lines[index].backendNodeId);
    // A frame that has gone meanwhile is nowhere.
    const places = await placesIn(document, ids).catch((error: unknown) => {
      if (document.owner === null) throw error;
      return ids.map(() => null);
    });
    places.forEach((place, index) => (found[indexes[index]] = place));
  }
  return found;
}

async function placesIn(document: AxDocument, ids: readonly (number | undefined)[]): Promise<Places> {
  const { session } = document;
  const world = await worldOf(document);
  try {
    const objects = await Promise.all(
      ids.map(async (id) => (id === undefined ? null : resolve(session, id, world))),
    );
    const known = objects.filter((object) => object !== null);
    const answer = await session.send('Runtime.callFunctionOn', {
      functionDeclaration: PLACES,
      arguments: known.map((objectId) => ({ objectId })),
      executionContextId: world,
      returnByValue: true,
    });
    const told = ((answer.result.value ?? []) as Places).values();
    const places = objects.map((object) => (object === null ? null : (told.next().value ?? null)));
    return await outwards(document, places);
  } finally {
    await session.send('Runtime.releaseObjectGroup', { objectGroup: GROUP }).catch(() => undefined);
  }
}

/** Points of a document on the screen, through all frames around it. */
async function outwards(document: AxDocument, points: Places): Promise<Places> {
  const { owner } = document;
  if (owner === null || points.every((point) => point === null)) return points;
  const { session } = owner.document;
  const frame = await resolve(session, owner.backendNodeId, await worldOf(owner.document));
  if (frame === null) return points.map(() => null);
  const answer = await session.send('Runtime.callFunctionOn', {
    functionDeclaration: THROUGH_FRAME,
    arguments: [{ value: points }],
    objectId: frame,
    returnByValue: true,
  });
  return outwards(owner.document, (answer.result.value ?? points.map(() => null)) as Places);
}

/** Where scripts of the page change nothing: the document is the same, the functions are the browser's own. */
async function worldOf({ session, frameId }: AxDocument): Promise<number> {
  return (await session.send('Page.createIsolatedWorld', { frameId })).executionContextId;
}

/** Null where the node has gone, or is none that scripts can have. */
async function resolve(
  session: CDPSession,
  backendNodeId: number,
  executionContextId: number,
): Promise<string | null> {
  const asked = { backendNodeId, executionContextId, objectGroup: GROUP };
  const answer = await session.send('DOM.resolveNode', asked).catch(() => null);
  return answer?.object.objectId ?? null;
}
