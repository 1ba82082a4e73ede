import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRecord } from '@ui-rl/plugin-kit';
import { DesktopError } from './errors';

/** Maximum message size; messages caused by pages are smaller. */
const MAX_BYTES = 32 * 2 ** 20;
const POLL_MS = 20;
/** Sent when the page's process crashes while the browser continues; pending requests are then never answered. */
const CRASHED = 'Inspector.targetCrashed';
/**
 * A browser reports the address of a page before the page exists: until then an empty, complete page is in its place,
 * and evaluations there have no effect on the real page.
 */
const IS_THERE = "document.readyState === 'complete' && location.href !== 'about:blank'";

interface Message<T = unknown> {
  id?: number;
  /** Present in events. */
  method?: string;
  error?: { message: string };
  result?: T;
}

interface Evaluated {
  result: { value?: { value?: unknown } };
  exceptionDetails?: { text: string; exception?: { description?: string } };
}

interface Target {
  targetId: string;
  type: string;
  url: string;
}

/**
 * The DevTools protocol over the two pipes of a browser: JSON messages, each terminated by a zero byte. It sets a
 * page's initial state and reads its state, but never operates the page.
 */
export class PagePipe {
  private parts: Buffer[] = [];
  private size = 0;
  private ids = 0;
  /** The error that ended the connection. */
  private end: DesktopError | null = null;
  /** The page, or the whole browser, is gone. */
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
    input.on('close', () => this.close());
    input.on('error', () => this.close());
    output.on('error', () => this.close());
  }

  /** Waits for a page whose address starts with `address`, and attaches to it. */
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
   * Evaluates an expression in the page once it is completely loaded, and awaits promises. If another page replaces
   * it before it answers, evaluates there. Rejects with the page's error, and soon after `givenUp` aborts if there is
   * no such page.
   */
  async evaluate(expression: string, givenUp?: AbortSignal): Promise<unknown> {
    // In one evaluation: the page may be replaced between two.
    const asked = `${IS_THERE} ? (async () => ({ value: await (${expression}) }))() : undefined`;
    for (;;) {
      const answer = await this.evaluateOnce(asked);
      if (answer !== undefined) return answer.value;
      await sleep(POLL_MS);
      givenUp?.throwIfAborted();
    }
  }

  /** Undefined if the page has not loaded, or is replaced before it answers. */
  private async evaluateOnce(expression: string): Promise<{ value?: unknown } | undefined> {
    const asked = { expression, awaitPromise: true, returnByValue: true };
    const { error, result } = await this.send<Evaluated>('Runtime.evaluate', asked);
    if (error !== undefined && this.isClosed) throw pageGone(error.message);
    if (result === undefined) return undefined;
    const { exceptionDetails: thrown } = result;
    if (thrown === undefined) return result.result.value;
    throw new DesktopError(
      'application_error',
      `the page throws ${thrown.exception?.description ?? thrown.text}`,
    );
  }

  private async ask<T>(method: string, params?: object): Promise<T> {
    const { error, result } = await this.send<T>(method, params);
    if (result === undefined) throw pageGone(error?.message ?? `${method} has no answer`);
    return result;
  }

  private async send<T>(method: string, params: object = {}): Promise<Message<T>> {
    if (this.end !== null) throw this.end;
    const id = ++this.ids;
    const reply = new Promise<Message<T>>((resolve, reject) => this.pending.set(id, { resolve, reject }));
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
    // An oversized message means that the page floods its browser, so the connection is closed.
    if (!isWhole) return this.close();
    const message = messageIn(text);
    // Invalid JSON: the process is no longer a working browser.
    if (message === null) return this.close();
    const { id, error, method } = message;
    if (method === CRASHED) this.over(pageGone('its process has ended'));
    const asked = id === undefined ? undefined : this.pending.get(id);
    if (id === undefined || asked === undefined) return;
    this.pending.delete(id);
    this.isClosed ||= error?.message.includes('not found') === true;
    asked.resolve(message as never);
  }

  private close(): void {
    this.isClosed = true;
    this.over(new DesktopError('crashed', 'the browser is gone'));
  }

  private over(why: DesktopError): void {
    this.end ??= why;
    for (const { reject } of this.pending.values()) reject(this.end);
    this.pending.clear();
  }
}

function messageIn(text: string): Message | null {
  try {
    const message: unknown = JSON.parse(text);
    return isRecord(message) && (message.error === undefined || isFault(message.error)) ? message : null;
  } catch {
    return null;
  }
}

function isFault(error: unknown): boolean {
  return isRecord(error) && typeof error.message === 'string';
}

function pageGone(why: string): DesktopError {
  return new DesktopError('crashed', `the page is gone: ${why}`);
}
