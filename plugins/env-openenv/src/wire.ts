import { lookupBeyondLink, OutsideError, refuseLink, type OutsideServer } from '@ui-rl/plugin-kit';
import { WebSocket, type RawData } from 'ws';

/** Maximum unsolicited messages: a server may say why it closes; one that sends more is faulty. */
const MAX_WAITING = 8;

/** A WebSocket with one reply per request, awaited before the next request. */
export class Wire {
  private readonly inbox: string[] = [];
  private failure: OutsideError | undefined;
  private wake: () => void = () => {};

  private constructor(
    private readonly socket: WebSocket,
    readonly address: string,
  ) {
    socket.on('message', (data: RawData) => {
      if (this.inbox.length < MAX_WAITING) this.inbox.push(textOf(data));
      else this.cutOff(`sent more than ${MAX_WAITING} messages that were not asked for`);
      this.wake();
    });
    socket.on('error', (cause) => this.end(cause.message, cause));
    socket.on('close', (code, reason) =>
      this.end(`it was closed (${code} ${reason.toString()})`.replace(' )', ')')),
    );
  }

  /** @throws OutsideError */
  static async open({ connection }: OutsideServer, path: string, signal: AbortSignal): Promise<Wire> {
    const { address, key, isTrusted, maxBytes } = connection;
    refuseLink(new URL(address), connection);
    const url = address.replace(/^http/, 'ws') + path;
    const socket = new WebSocket(url, {
      maxPayload: maxBytes,
      perMessageDeflate: false,
      followRedirects: false,
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      ...(isTrusted ? {} : { lookup: lookupBeyondLink }),
    });
    const wire = new Wire(socket, url);
    socket.on('open', () => wire.wake());
    await wire.until(() => socket.readyState === WebSocket.OPEN, signal);
    return wire;
  }

  /** Sends a message once and returns the next reply. @throws OutsideError */
  async ask(message: object, signal: AbortSignal): Promise<string> {
    if (this.failure !== undefined && this.inbox.length === 0) throw this.failure;
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
    await this.until(() => this.inbox.length > 0, signal);
    return this.inbox.shift()!;
  }

  /** Sends a final message if the connection is open, and closes it. */
  close(goodbye: object): void {
    if (this.socket.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify(goodbye));
      this.socket.close(1000);
    }
    // Terminate the connection if the close handshake is not answered; the timer does not keep the process alive.
    setTimeout(() => this.socket.terminate(), 2_000).unref();
  }

  private cutOff(why: string): void {
    this.inbox.length = 0;
    this.end(why);
    this.socket.terminate();
  }

  private async until(isSo: () => boolean, signal: AbortSignal): Promise<void> {
    const wake = () => this.wake();
    signal.addEventListener('abort', wake, { once: true });
    try {
      while (!isSo()) {
        if (this.failure !== undefined) throw this.failure;
        if (signal.aborted) {
          this.socket.terminate();
          throw new OutsideError('deadline', `${this.address} gave no answer in time`);
        }
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
      }
    } finally {
      signal.removeEventListener('abort', wake);
    }
  }

  private end(why: string, cause?: Error): void {
    this.failure ??= new OutsideError(
      'crashed',
      `${this.address}: ${why}`,
      cause === undefined ? {} : { cause },
    );
    this.wake();
  }
}

function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString();
  return (data instanceof ArrayBuffer ? Buffer.from(data) : data).toString();
}
