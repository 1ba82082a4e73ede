import type { CDPSession } from 'playwright';
import { linesOf, type AxLine, type AxNode } from './ax-lines';
import type { BrowserTab } from './browser-tab';

/** Maximum nodes of a page. Reading a larger accessibility tree would block the browser for seconds. */
const MAX_NODES = 50_000;
/** Maximum frames read per page. */
const MAX_FRAMES = 32;

/** The document of a page or of one of its frames. */
export interface AxDocument {
  session: CDPSession;
  frameId: string;
  /** The element that embeds it, and the document of that element; null for the page itself. */
  owner: { document: AxDocument; backendNodeId: number } | null;
}

export interface DocumentLine extends AxLine {
  document: AxDocument;
}

interface FrameTree {
  frame: { id: string };
  childFrames?: FrameTree[];
}

/**
 * The accessibility lines of a page, each frame's lines in place of the frame. Null if the page exceeds the limits.
 */
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

/**
 * Cross-site frames run in their own processes and need their own sessions, which stay open while positions are read.
 */
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

/** Detaches the sessions of cross-site frames. */
export async function leaveFrames(lines: readonly DocumentLine[], { cdp }: BrowserTab): Promise<void> {
  const sessions = new Set(lines.map(({ document }) => document.session));
  sessions.delete(cdp);
  await Promise.all([...sessions].map((session) => session.detach().catch(() => undefined)));
}

/** All descendants of a frame that share its process. */
function framesIn({ childFrames = [] }: FrameTree): string[] {
  return childFrames.flatMap((child) => [child.frame.id, ...framesIn(child)]);
}

/** Inserts the lines of a frame below its owner element. Does nothing if the element or the frame is gone. */
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
    // A navigation of the page itself is retried by the caller.
    if (document.owner === null && !/more than can be taken in/.test(String(error))) throw error;
    return null;
  });
  if (answer === null) return null;
  return linesOf(answer.nodes as AxNode[], depth).map((line) => ({ ...line, document }));
}

/** Includes detached nodes until they are garbage-collected. */
async function isTooLarge(session: CDPSession): Promise<boolean> {
  if ((await session.send('Memory.getDOMCounters')).nodes <= MAX_NODES) return false;
  await session.send('HeapProfiler.collectGarbage');
  return (await session.send('Memory.getDOMCounters')).nodes > MAX_NODES;
}
