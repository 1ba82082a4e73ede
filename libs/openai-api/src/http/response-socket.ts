import { randomUUID } from 'node:crypto';
import { type RawData, WebSocket } from 'ws';
import { ApiError, toApiError } from '../errors';
import { isObject } from '../fields';
import { errorEvent } from '../responses/events';
import { PendingResponse } from '../responses/respond';
import type { Seal } from '../responses/seal';
import type { StoredResponse } from '../responses/store';
import type { PolicyDirectory } from './directory';
import type { BodyBudget } from './body-budget';
import type { Asking, Exchanges } from './exchange';
import { countRefusal, countSocket } from './measures';
import { answerPings, sendText } from './unread';

export interface SocketParts {
  directory: PolicyDirectory;
  exchanges: Exchanges;
  seal: Seal;
  budget: BodyBudget;
  /** Time in ms after which a connection accepts no further requests. */
  lifeMs: number;
}

/** Number of pipelined requests per connection; they are answered one after the other. */
const MAX_AHEAD = 16;
/** Interval of keep-alive pings. */
const ALIVE_MS = 30_000;
/** Fields that only apply to HTTP. */
const OF_HTTP = ['stream', 'stream_options', 'background'];

/** Close code of RFC 6455 (policy violation). */
const TOO_OLD = 1008;

/** `/v1/responses` over one WebSocket: sequential requests, each answered by the events of a stream. */
export class ResponseSocket {
  private readonly gone = new AbortController();
  /** The newest response, which the next request may continue even if it is not stored. */
  private newest: { id: string; response: StoredResponse } | undefined;
  private turns: Promise<void> = Promise.resolve();
  private ahead = 0;
  private isOld = false;
  private isAlive = true;

  private constructor(
    private readonly socket: WebSocket,
    private readonly caller: Pick<Asking, 'session' | 'apiKey'>,
    private readonly parts: SocketParts,
  ) {}

  /** Answers the messages of a WebSocket until it closes. */
  static serve(socket: WebSocket, caller: Pick<Asking, 'session' | 'apiKey'>, parts: SocketParts): void {
    new ResponseSocket(socket, caller, parts).listen();
  }

  private listen(): void {
    const { socket, parts } = this;
    const old = setTimeout(() => this.grewOld(), parts.lifeMs);
    const alive = setInterval(() => this.askAlive(), ALIVE_MS);
    countSocket(1);
    answerPings(socket);
    socket.on('message', (data, isBinary) => this.receive(data, isBinary));
    socket.on('pong', () => (this.isAlive = true));
    // The library closes the connection with the matching code after a protocol violation.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(old);
      clearInterval(alive);
      this.gone.abort();
      countSocket(-1);
    });
  }

  private receive(data: RawData, isBinary: boolean): void {
    // `binaryType` is `nodebuffer`, which merges fragmented messages.
    const message = data as Buffer;
    try {
      const release = this.admit(message);
      this.turns = this.after(this.turns, isBinary ? undefined : String(message), release);
    } catch (error) {
      this.refuse(error);
    }
  }

  private async after(earlier: Promise<void>, text: string | undefined, release: () => void): Promise<void> {
    await earlier;
    await this.turn(text);
    release();
    if (this.isOld) this.refuseFurther();
  }

  /** Admits a message and returns a function that marks it as answered. @throws ApiError 429 */
  private admit({ byteLength }: Buffer): () => void {
    if (this.ahead >= MAX_AHEAD)
      throw new ApiError(429, `${MAX_AHEAD} requests are waiting already`, 'rate_limit_exceeded');
    const giveBack = this.parts.budget.take(byteLength);
    this.ahead += 1;
    return () => {
      this.ahead -= 1;
      giveBack();
    };
  }

  private async turn(text: string | undefined): Promise<void> {
    if (this.gone.signal.aborted || this.socket.readyState !== WebSocket.OPEN) return;
    try {
      await this.answer(readMessage(text));
    } catch (error) {
      this.refuse(error);
    }
  }

  private async answer(body: Record<string, unknown>): Promise<void> {
    const { newest, gone, caller } = this;
    const isContinued = newest !== undefined && newest.id === body.previous_response_id;
    // In any case: a response that was continued is no longer the newest, and after a failure there is none.
    if (isContinued) this.newest = undefined;
    const connection = {
      previous: isContinued ? newest.response : undefined,
      keep: (id: string, response: StoredResponse) => void (this.newest = { id, response }),
    };
    const { exchanges, seal } = this.parts;
    const asking = {
      ...caller,
      route: 'responses' as const,
      // A WebSocket has no header that marks a retry.
      attempt: { key: randomUUID(), again: false },
      signal: gone.signal,
    };
    await exchanges.run(asking, async (exchange) => {
      const pending = await PendingResponse.read(body, { ...exchange, seal, connection });
      await pending.stream((event) => this.send(event));
    });
  }

  private refuse(error: unknown): void {
    countRefusal(error);
    this.send(errorEvent(toApiError(error)));
  }

  private send(event: object): void {
    sendText(this.socket, JSON.stringify(event));
  }

  private askAlive(): void {
    if (!this.isAlive) return this.socket.terminate();
    this.isAlive = false;
    this.socket.ping();
  }

  private grewOld(): void {
    this.isOld = true;
    if (this.ahead === 0) this.refuseFurther();
  }

  private refuseFurther(): void {
    const minutes = Math.round(this.parts.lifeMs / 60_000);
    this.refuse(
      new ApiError(
        400,
        `a connection lasts ${minutes} minutes: open another one`,
        'websocket_connection_limit_reached',
      ),
    );
    this.socket.close(TOO_OLD, 'open another connection');
  }
}

/** Parses a message. @throws ApiError if it is not a request */
function readMessage(text: string | undefined): Record<string, unknown> {
  const message = parsed(text);
  if (!isObject(message))
    throw new ApiError(400, 'expected a JSON object in a message of text', 'invalid_json');
  const { type, ...body } = message;
  if (type !== 'response.create') {
    throw new ApiError(400, 'type: expected "response.create"', 'invalid_value', 'type');
  }
  const wrong = OF_HTTP.find((name) => name in body);
  if (wrong === undefined) return body;
  const why = 'belongs to requests over HTTP: over a WebSocket each answer is a stream';
  throw new ApiError(400, `${wrong}: ${why}`, 'unsupported_parameter', wrong);
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}
