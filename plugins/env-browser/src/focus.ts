import type { Focus } from '@ui-rl/plugin-kit';
import type { CDPSession, Page } from 'playwright';
import type { BrowserTab } from './browser-tab';
import { ACTIVE_ELEMENT, FOCUS } from './survey-script';

/** Frames in each other that are followed. */
const MAX_DEPTH = 8;

/** As a document tells it. */
export interface ToldFocus extends Focus {
  /** Whether it is the element of a frame, which may have an element that has the keyboard. */
  isFrame: boolean;
}

/** A document, and the session that can be asked about it. */
interface FrameDocument {
  session: CDPSession;
  frameId: string;
}

/**
 * What has the keyboard, where a page says that one of its frames has it: in that frame, from whichever site it is. Where nobody can look
 * into it, what is typed there counts as secret.
 *
 * @param told by the page's own document
 */
export async function focusWithin(
  { cdp, page }: Pick<BrowserTab, 'cdp' | 'page'>,
  told: ToldFocus | null,
): Promise<Focus | null> {
  if (told === null) return null;
  const { isFrame, ...focus } = told;
  if (!isFrame) return focus;
  const sessions: CDPSession[] = [];
  try {
    const { frameTree } = await cdp.send('Page.getFrameTree');
    let at: FrameDocument = { session: cdp, frameId: frameTree.frame.id };
    let found: Focus = focus;
    for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
      const frameId = await focusedFrame(at);
      if (frameId === undefined) return found;
      at = { session: await sessionOf(frameId, at.session, page, sessions), frameId };
      const inside = await evaluate<ToldFocus | null>(at, FOCUS);
      if (inside === null) return found;
      const { isFrame: isOuter, selector, ...rest } = inside;
      found = { ...rest, selector: `${found.selector} >> ${selector}` };
      if (!isOuter) return found;
    }
    return found;
  } catch {
    return { selector: focus.selector, isSecret: true };
  } finally {
    await Promise.all(sessions.map((session) => session.detach().catch(() => undefined)));
  }
}

/** The frame that has the keyboard of a document; undefined where none of its frames has. */
async function focusedFrame(at: FrameDocument): Promise<string | undefined> {
  const contextId = await apart(at);
  const { result } = await at.session.send('Runtime.evaluate', { expression: ACTIVE_ELEMENT, contextId });
  const { objectId } = result;
  if (objectId === undefined) return undefined;
  const { node } = await at.session.send('DOM.describeNode', { objectId });
  await at.session.send('Runtime.releaseObject', { objectId });
  return node.frameId;
}

/** The session that knows a frame: that of the document around it, or, of a frame with a process of its own, one that is opened for it. */
async function sessionOf(
  frameId: string,
  around: CDPSession,
  page: Page,
  opened: CDPSession[],
): Promise<CDPSession> {
  if (await knows(around, frameId)) return around;
  for (const frame of page.frames().slice(1)) {
    const session = await page
      .context()
      .newCDPSession(frame)
      .catch(() => null);
    if (session === null) continue;
    opened.push(session);
    if (await knows(session, frameId)) return session;
  }
  throw new Error('the frame has gone');
}

async function knows(session: CDPSession, frameId: string): Promise<boolean> {
  const { frameTree } = await session.send('Page.getFrameTree');
  const holds = ({ frame, childFrames = [] }: FrameTree): boolean =>
    frame.id === frameId || childFrames.some(holds);
  return holds(frameTree);
}

interface FrameTree {
  frame: { id: string };
  childFrames?: FrameTree[];
}

async function evaluate<T>(at: FrameDocument, expression: string): Promise<T> {
  const contextId = await apart(at);
  const { result, exceptionDetails } = await at.session.send('Runtime.evaluate', {
    expression,
    contextId,
    returnByValue: true,
  });
  if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text);
  return result.value as T;
}

/** Where scripts of the page change nothing. */
async function apart({ session, frameId }: FrameDocument): Promise<number> {
  return (await session.send('Page.createIsolatedWorld', { frameId })).executionContextId;
}
