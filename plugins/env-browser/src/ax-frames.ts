import type { CDPSession } from 'playwright';
import { linesOf, type AxLine, type AxNode } from './ax-lines';
import type { BrowserTab } from './browser-tab';

/** Nodes of a page beyond which its tree is not read: it would keep the browser busy for seconds. */
const MAX_NODES = 50_000;
/** Frames of a page that are read. */
const MAX_FRAMES = 32;

/** A document of a page: its own, or that of a frame. */
export interface AxDocument {
  session: CDPSession;
  frameId: string;
  /** The element that shows it, and the document which has that; null for the page itself. */
  owner: { document: AxDocument; backendNodeId: number } | null;
}

export interface DocumentLine extends AxLine {
  document: AxDocument;
}

interface FrameTree {
  frame: { id: string };
  childFrames?: FrameTree[];
}

/** What a page tells, its frames where they stand. Null where it is larger than anybody wants to read. */
export async function linesOfPage({ cdp, page }: BrowserTab): Promise<DocumentLine[] | null> {
  if (await isTooLarge(cdp)) return null;
  const { frameTree } = await cdp.send('Page.getFrameTree');
  const lines = await linesOfDocument({ session: cdp, frameId: frameTree.frame.id, owner: null }, 0);
  if (lines === null) return null;
  const inside = framesIn(frameTree);
  for (const frameId of inside.slice(0, MAX_FRAMES)) await addFrame(lines, cdp, frameId, [cdp]);
  if (page.frames().length > inside.length + 1) await addFramesApart(lines, { cdp, page });
  return lines;
}

/** Frames from other sites have a process each, and sessions of their own, which stay while their places are asked for. */
async function addFramesApart(
  lines: DocumentLine[],
  { cdp, page }: Pick<BrowserTab, 'cdp' | 'page'>,
): Promise<void> {
  const sessions = [cdp];
  for (const frame of page.frames().slice(1, MAX_FRAMES)) {
    const session = await page
      .context()
      .newCDPSession(frame)
      .catch(() => null);
    if (session === null || (await isTooLarge(session))) continue;
    const { frameTree } = await session.send('Page.getFrameTree');
    await addFrame(lines, session, frameTree.frame.id, sessions);
    for (const frameId of framesIn(frameTree)) await addFrame(lines, session, frameId, [session]);
    sessions.push(session);
  }
}

/** Ends the sessions of frames that have one of their own. */
export async function leaveFrames(lines: readonly DocumentLine[], { cdp }: BrowserTab): Promise<void> {
  const sessions = new Set(lines.map(({ document }) => document.session));
  sessions.delete(cdp);
  await Promise.all([...sessions].map((session) => session.detach().catch(() => undefined)));
}

/** All frames below the first one that are in its process. */
function framesIn({ childFrames = [] }: FrameTree): string[] {
  return childFrames.flatMap((child) => [child.frame.id, ...framesIn(child)]);
}

/** Puts the lines of a frame below that of the element which shows it; nothing where there is none, or the frame has gone. */
async function addFrame(
  lines: DocumentLine[],
  session: CDPSession,
  frameId: string,
  owners: readonly CDPSession[],
): Promise<void> {
  for (const owning of owners) {
    const owner = await owning.send('DOM.getFrameOwner', { frameId }).catch(() => null);
    if (owner === null) continue;
    const { backendNodeId } = owner;
    const at = lines.findIndex(
      ({ document, backendNodeId: id }) => document.session === owning && id === backendNodeId,
    );
    if (at < 0) return;
    const { document, depth } = lines[at];
    const own = { session, frameId, owner: { document, backendNodeId } };
    lines.splice(at + 1, 0, ...((await linesOfDocument(own, depth + 1)) ?? []));
    return;
  }
}

async function linesOfDocument(document: AxDocument, depth: number): Promise<DocumentLine[] | null> {
  const { session, frameId } = document;
  const answer = await session.send('Accessibility.getFullAXTree', { frameId }).catch((error: unknown) => {
    // Of its own frame a page that navigates is asked again.
    if (document.owner === null && !/more than can be taken in/.test(String(error))) throw error;
    return null;
  });
  if (answer === null) return null;
  return linesOf(answer.nodes as AxNode[], depth).map((line) => ({ ...line, document }));
}

/** What a page has dropped counts as long as nobody has cleaned up after it. */
async function isTooLarge(session: CDPSession): Promise<boolean> {
  if ((await session.send('Memory.getDOMCounters')).nodes <= MAX_NODES) return false;
  await session.send('HeapProfiler.collectGarbage');
  return (await session.send('Memory.getDOMCounters')).nodes > MAX_NODES;
}
