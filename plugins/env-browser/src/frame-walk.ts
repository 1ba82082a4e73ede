import type { CDPSession, Page } from 'playwright';

/** A document, and the session that evaluates in it. */
export interface FrameDocument {
  session: CDPSession;
  frameId: string;
}

interface FrameTree {
  frame: { id: string };
  childFrames?: FrameTree[];
}

/**
 * Walks from a page into its frames. Cross-site frames run in their own processes and need their own sessions, which
 * are detached at the end of the walk.
 */
export class FrameWalk {
  private readonly opened: CDPSession[] = [];

  constructor(
    private readonly page: Page,
    private readonly cdp: CDPSession,
  ) {}

  /** The page's main document. */
  async top(): Promise<FrameDocument> {
    const { frameTree } = await this.cdp.send('Page.getFrameTree');
    return { session: this.cdp, frameId: frameTree.frame.id };
  }

  /** Evaluates an expression in an isolated world, safe from page scripts, and awaits its promise. */
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

  /** The frame shown by the element that an expression returns; null if the element shows no frame. */
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

  /**
   * Calls a function with the shadow root, open or closed, of the element that an expression returns; null if it has
   * none.
   */
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

  /** The session of a frame: that of the enclosing document, or a new one if the frame has its own process. */
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

/** Returns the same world for the lifetime of the document. */
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
