import type { Point } from '@ui-rl/plugin-kit';
import type { CDPSession } from 'playwright';
import type { AxDocument, DocumentLine } from './ax-frames';
import { PLACES, THROUGH_FRAME } from './places-script';

/** Object group of the node handles that are resolved to read positions. */
const GROUP = 'uirl-places';

type Places = (Point | null)[];

/**
 * The point at which an action would hit each element, in CSS pixels of the viewport; null if the element is hidden
 * or covered.
 */
export async function placesOf(lines: readonly DocumentLine[]): Promise<Places> {
  const found: Places = lines.map(() => null);
  for (const document of new Set(lines.map((line) => line.document))) {
    const indexes = [...lines.keys()].filter((index) => lines[index].document === document);
    const ids = indexes.map((index) => lines[index].backendNodeId);
    // A frame that has been removed meanwhile has no position.
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

/** Converts points of a document to viewport coordinates, through all enclosing frames. */
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

/** An isolated world: it shares the document, but page scripts cannot replace its functions. */
async function worldOf({ session, frameId }: AxDocument): Promise<number> {
  return (await session.send('Page.createIsolatedWorld', { frameId })).executionContextId;
}

/** Null if the node is gone or has no script object. */
async function resolve(
  session: CDPSession,
  backendNodeId: number,
  executionContextId: number,
): Promise<string | null> {
  const asked = { backendNodeId, executionContextId, objectGroup: GROUP };
  const answer = await session.send('DOM.resolveNode', asked).catch(() => null);
  return answer?.object.objectId ?? null;
}
