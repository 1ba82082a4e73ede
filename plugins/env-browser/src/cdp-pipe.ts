import type { Readable, Writable } from 'node:stream';
import type { ConnectOverCDPTransport } from 'playwright';
import { Traffic } from './traffic';

/** Maximum message size; messages caused by pages are smaller. */
const MAX_BYTES = 32 * 2 ** 20;
/** Maximum size of a screenshot message: 4096 × 4096 pixels of noise in base64. */
const MAX_SCREENSHOT_BYTES = 128 * 2 ** 20;
/** Bytes that suffice to read the id at the start of a message and the session at its end. */
const EDGE_BYTES = 64;

/** Events without listeners that pages can trigger at any rate. */
const UNHEARD = ['Runtime.consoleAPICalled', 'Target.targetInfoChanged'].map((method) =>
  Buffer.from(`{"method":"${method}"`),
);

interface Message {
  id?: number;
  method?: string;
  sessionId?: string;
  params?: { sessionId?: string; targetInfo?: { browserContextId?: string } };
}

/**
 * The DevTools protocol over the two pipes of a browser: JSON messages, each terminated by a zero byte. Pages control
 * how much arrives, so messages of any length are read but not all are kept: an oversized reply becomes an error of
 * its request, an oversized event counts as a flood.
 */
export class CdpPipe implements ConnectOverCDPTransport {
  onmessage?: (message: object) => void;
  readonly traffic = new Traffic();

  private parts: Buffer[] = [];
  private size = 0;
  private readonly screenshots = new Set<number>();
  private closed = false;
  private onEnd: ((reason?: string) => void) | undefined;

  constructor(
    private readonly output: Writable,
    input: Readable,
    /** Stops the browser. */
    private readonly end: () => void,
  ) {
    input.on('data', (chunk: Buffer) => this.read(chunk));
    input.on('close', () => this.ended());
    input.on('error', () => this.ended());
    output.on('error', () => undefined);
  }

  get isClosed(): boolean {
    return this.closed;
  }

  get onclose(): ((reason?: string) => void) | undefined {
    return this.onEnd;
  }

  /** Also called if the browser has already exited. */
  set onclose(onEnd: ((reason?: string) => void) | undefined) {
    this.onEnd = onEnd;
    if (this.closed) setImmediate(() => this.onEnd?.());
  }

  send(message: object): void {
    if (this.closed) throw new Error('the browser is gone');
    const { id, method } = message as Message;
    if (id !== undefined && method === 'Page.captureScreenshot') this.screenshots.add(id);
    this.output.write(`${JSON.stringify(message)}\0`);
  }

  close(): void {
    this.end();
  }

  private ended(): void {
    if (this.closed) return;
    this.closed = true;
    this.parts = [];
    // After the messages that have already been read.
    setImmediate(() => this.onEnd?.());
  }

  private read(chunk: Buffer): void {
    let begin = 0;
    for (let end = chunk.indexOf(0); end >= 0; end = chunk.indexOf(0, begin)) {
      this.append(chunk.subarray(begin, end));
      this.complete();
      begin = end + 1;
    }
    if (begin < chunk.length) this.append(chunk.subarray(begin));
  }

  private append(part: Buffer): void {
    this.size += part.length;
    this.parts.push(part);
    // Keep the first and the newest parts of an oversized message: they identify its request and session.
    if (this.size > this.limit() && this.parts.length > 4) this.parts.splice(2, this.parts.length - 4);
  }

  private complete(): void {
    const isTooLarge = this.size > this.limit();
    const bytes = this.size;
    const message = this.parts.length === 1 ? this.parts[0] : Buffer.concat(this.parts);
    this.parts = [];
    this.size = 0;
    const id = idOf(message);
    if (id !== null) this.screenshots.delete(id);
    if (isTooLarge) this.refuse(id, sessionOf(message), bytes);
    else if (id !== null || this.isHeard(message)) this.deliver(message.toString());
  }

  /** Console messages are only counted, not delivered. */
  private isHeard(event: Buffer): boolean {
    const isHeard = !UNHEARD.some((method) => event.subarray(0, method.length).equals(method));
    return this.traffic.admits(sessionOf(event), event.length, isHeard) && isHeard;
  }

  private limit(): number {
    if (this.size <= MAX_BYTES) return MAX_BYTES;
    const id = idOf(this.parts[0]);
    return id !== null && this.screenshots.has(id) ? MAX_SCREENSHOT_BYTES : MAX_BYTES;
  }

  /** Playwright expects promises to settle between two messages. */
  private deliver(text: string): void {
    setImmediate(() => {
      const message = messageIn(text);
      if (message === null) return this.end();
      this.note(message);
      this.onmessage?.(message);
    });
  }

  private refuse(id: number | null, sessionId: string | null, bytes: number): void {
    if (id === null) return this.traffic.overflowed(sessionId);
    const error = { code: -32_000, message: `an answer of ${bytes} bytes, more than can be taken in` };
    setImmediate(() => this.onmessage?.({ id, error, ...(sessionId === null ? {} : { sessionId }) }));
  }

  private note({ method, params }: Message): void {
    if (params?.sessionId === undefined) return;
    const contextId = params.targetInfo?.browserContextId;
    if (method === 'Target.attachedToTarget' && contextId !== undefined) {
      this.traffic.attached(params.sessionId, contextId);
    } else if (method === 'Target.detachedFromTarget') this.traffic.detached(params.sessionId);
  }
}

/** Null for invalid JSON: the process on the other end is no longer a working browser. */
function messageIn(text: string): Message | null {
  try {
    return JSON.parse(text) as Message;
  } catch {
    return null;
  }
}

/** Replies start with their id. */
function idOf(message: Buffer): number | null {
  const found = /^\{"id":(-?\d+)/.exec(message.toString('latin1', 0, EDGE_BYTES));
  return found === null ? null : Number(found[1]);
}

/** Messages end with their session id; page text before it cannot imitate it, since its quotes are escaped. */
function sessionOf(message: Buffer): string | null {
  const end = message.toString('latin1', Math.max(0, message.length - EDGE_BYTES));
  return /"sessionId":"([^"\\]+)"\}$/.exec(end)?.[1] ?? null;
}
