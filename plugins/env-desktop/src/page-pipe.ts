import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { DesktopError } from './errors';

/** Largest message that is taken in; what a page has to say is smaller. */
const MAX_BYTES = 32 * 2 ** 20;
const POLL_MS = 20;

interface Message {
  id?: number;
  error?: { message: string };
  result?: Record<string, unknown>;
}

interface Evaluated {
  result: { value?: unknown };
  exceptionDetails?: { text: string; exception?: { description?: string } };
}

interface Target {
  targetId: string;
  type: string;
  url: string;
}

/**
 * The DevTools protocol over the two pipes of a browser: JSON messages, each ended by a zero byte. Used to put a page into its first
 * state and to read its state, never to operate it.
 */
export class PagePipe {
  private parts: Buffer[] = [];
  private size = 0;
  private ids = 0;
  private isOver = false;
  /** The page, or the whole browser, is not there any more. */
  isClosed = false;
  private session: string | undefined;
  private readonly pending = new Map<
    number,
    { resolve: (value: never) => void; reject: (error: Error) => void }
  >();

  constructor(
    private readonly output: Writable,
    input: Readable,
  ) {
    input.on('data', (chunk: Buffer) => this.read(chunk));
    input.on('close', () => this.over());
    input.on('error', () => this.over());
    output.on('error', () => this.over());
  }

  /** Waits until the browser shows the page whose address begins so, and talks to that page from then on. */
  async attach(address: string): Promise<void> {
    for (;;) {
      const { targetInfos } = await this.ask<{ targetInfos: Target[] }>('Target.getTargets');
      const found = targetInfos.find(({ type, url }) => type === 'page' && url.startsWith(address));
      if (found !== undefined) {
        const { targetId } = found;
        const attached = await this.ask<{ sessionId: string }>('Target.attachToTarget', {
          targetId,
          flatten: true,
        });
        this.session = attached.sessionId;
        return;
      }
      await sleep(POLL_MS);
    }
  }

  /**
   * Waits until the page is there with all its parts. A browser tells the address of a page before it has it: until then the empty
   * page is in its place, complete, and deaf to what the page would be told.
   */
  async loaded(): Promise<void> {
    const isLoaded = "document.readyState === 'complete' && location.href !== 'about:blank'";
    while ((await this.whileReplaced(() => this.evaluate(isLoaded))) !== true) await sleep(POLL_MS);
  }

  /** What is asked of the empty page while it goes has no answer. */
  private async whileReplaced(ask: () => Promise<unknown>): Promise<unknown> {
    try {
      return await ask();
    } catch (error) {
      if (this.isClosed) throw error;
      return undefined;
    }
  }

  /** The value of an expression in the page, its promises awaited. Rejects with what the page throws. */
  async evaluate(expression: string): Promise<unknown> {
    const asked = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails: thrown } = await this.ask<Evaluated>('Runtime.evaluate', asked);
    if (thrown === undefined) return result.value;
    throw new DesktopError(
      'application_error',
      `the page throws ${thrown.exception?.description ?? thrown.text}`,
    );
  }

  private async ask<T>(method: string, params: object = {}): Promise<T> {
    if (this.isOver) throw gone();
    const id = ++this.ids;
    const reply = new Promise<T>((resolve, reject) => this.pending.set(id, { resolve, reject }));
    const session = this.session === undefined ? {} : { sessionId: this.session };
    this.output.write(`${JSON.stringify({ id, method, params, ...session })}\0`);
    return reply;
  }

  private read(chunk: Buffer): void {
    let begin = 0;
    for (let end = chunk.indexOf(0); end >= 0; end = chunk.indexOf(0, begin)) {
      this.keep(chunk.subarray(begin, end));
      this.complete();
      begin = end + 1;
    }
    this.keep(chunk.subarray(begin));
  }

  private keep(part: Buffer): void {
    this.size += part.length;
    if (this.size <= MAX_BYTES) this.parts.push(part);
  }

  private complete(): void {
    const isWhole = this.size <= MAX_BYTES;
    const text = Buffer.concat(this.parts).toString();
    this.parts = [];
    this.size = 0;
    // What is too large is the answer of a page that floods its browser: there is no going on with it.
    if (!isWhole) return this.over();
    const { id, error, result } = JSON.parse(text) as Message;
    const asked = id === undefined ? undefined : this.pending.get(id);
    if (id === undefined || asked === undefined) return;
    this.pending.delete(id);
    if (error === undefined) asked.resolve(result as never);
    else {
      this.isClosed ||= error.message.includes('not found');
      asked.reject(new DesktopError('crashed', `the page is gone: ${error.message}`));
    }
  }

  private over(): void {
    this.isOver = true;
    this.isClosed = true;
    for (const { reject } of this.pending.values()) reject(gone());
    this.pending.clear();
  }
}

function gone(): DesktopError {
  return new DesktopError('crashed', 'the browser is gone');
}
