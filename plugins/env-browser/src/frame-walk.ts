import type { CDPSession, Page } from 'playwright';

/** A document, and the session that can be asked about it. */
export interface FrameDocument {
  session: CDPSession;
  frameId: string;
}

interface FrameTree {
  frame: { id: string };
  childFrames?: FrameTree[];
}

/** Goes from a page into its frames, also those of other sites, whose processes have sessions of their own: they end with the walk. */
export class FrameWalk {
  private readonly opened: CDPSession[] = [];

  constructor(
    private readonly page: Page,
    private readonly cdp: CDPSession,
  ) {}

  /** The page's own document. */
  async top(): Promise<FrameDocument> {
    const { frameTree } = await this.cdp.send('Page.getFrameTree');
    return { session: this.cdp, frameId: frameTree.frame.id };
  }

  /** Runs an expression where scripts of the page change nothing, and waits for its promise. */
  async evaluate<T>(frame: FrameDocument, expression: string, { userGesture = false } = {}): Promise<T> {
    const { result, exceptionDetails } = await frame.session.send('Runtime.evaluate', {
      expression,
      contextId: await worldOf(frame),
      awaitPromise: true,
      returnByValue: true,
      userGesture,
    });
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text);
    return result.value as T;
  }

  /** The frame that an element shows which an expression gives; null where it is none that shows a frame. */
  async into(frame: FrameDocument, expression: string): Promise<FrameDocument | null> {
    const { session } = frame;
    const contextId = await worldOf(frame);
    const { result } = await session.send('Runtime.evaluate', { expression, contextId });
    if (result.objectId === undefined) return null;
    const { node } = await session.send('DOM.describeNode', { objectId: result.objectId });
    await session.send('Runtime.releaseObject', { objectId: result.objectId });
    if (node.frameId === undefined) return null;
    return { session: await this.sessionOf(node.frameId, session), frameId: node.frameId };
  }

  /** Calls a function with the shadow root of an element that an expression gives, also a closed one; null where it has none. */
  async evaluateInShadow<T>(frame: FrameDocument, host: string, functionOfRoot: string): Promise<T | null> {
    const { session } = frame;
    const contextId = await worldOf(frame);
    const { result } = await session.send('Runtime.evaluate', { expression: host, contextId });
    if (result.objectId === undefined) return null;
    const { node } = await session.send('DOM.describeNode', { objectId: result.objectId });
    await session.send('Runtime.releaseObject', { objectId: result.objectId });
    const root = node.shadowRoots?.find(({ shadowRootType }) => shadowRootType !== 'user-agent');
    if (root === undefined) return null;
    const { backendNodeId } = root;
    const { object } = await session.send('DOM.resolveNode', {
      backendNodeId,
      executionContextId: contextId,
    });
    const called = await session.send('Runtime.callFunctionOn', {
      functionDeclaration: `function () { return (${functionOfRoot})(this); }`,
      objectId: object.objectId!,
      returnByValue: true,
    });
    await session.send('Runtime.releaseObject', { objectId: object.objectId! });
    return (called.result.value ?? null) as T | null;
  }

  async end(): Promise<void> {
    await Promise.all(this.opened.splice(0).map((session) => session.detach().catch(() => undefined)));
  }

  /** The session that knows a frame: that of the document around it, or, of a frame with a process of its own, one that is opened for it. */
  async sessionOf(frameId: string, around: CDPSession): Promise<CDPSession> {
    if (await knows(around, frameId)) return around;
    for (const frame of this.page.frames().slice(1)) {
      const session = await this.page
        .context()
        .newCDPSession(frame)
        .catch(() => null);
      if (session === null) continue;
      this.opened.push(session);
      if (await knows(session, frameId)) return session;
    }
    throw new Error('the frame has gone');
  }
}

/** The same one each time, as long as the document is there. */
async function worldOf({ session, frameId }: FrameDocument): Promise<number> {
  const asked = { frameId, worldName: 'uirl' };
  return (await session.send('Page.createIsolatedWorld', asked)).executionContextId;
}

async function knows(session: CDPSession, frameId: string): Promise<boolean> {
  const { frameTree } = await session.send('Page.getFrameTree');
  const holds = ({ frame, childFrames = [] }: FrameTree): boolean =>
    frame.id === frameId || childFrames.some(holds);
  return holds(frameTree);
}
