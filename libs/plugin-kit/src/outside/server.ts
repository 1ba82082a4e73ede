import { request as plainRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { isLinkLocalHost, lookupBeyondLink } from '@ui-rl/http';
import { OutsideError } from './errors';
import { outsideText } from './reply';

export interface ServerConnection {
  /** `http://host:port/path`, without a trailing slash. */
  address: string;
  /** Sent as `Authorization: Bearer`; undefined: no header. */
  key?: string | undefined;
  /**
   * The operator of this machine named it, so any address is allowed; otherwise link-local addresses are rejected.
   */
  isTrusted: boolean;
  /** Maximum size; a larger answer is aborted. */
  maxBytes: number;
}

export interface ServerQuestion {
  method?: 'GET' | 'POST' | 'DELETE';
  query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

export interface ServerAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
}

/**
 * A streaming answer. Its body throws like {@link OutsideServer.ask}. It is aborted when the reader stops; if it is
 * never read, the request's signal ends it.
 */
export interface ServerStream extends Omit<ServerAnswer, 'bytes'> {
  body: AsyncIterable<Buffer>;
}

/**
 * A server outside of the project. A request is sent once, because repeating it might repeat an action. Each uses a
 * new connection, so that none is lost on a connection that the server has just closed. Redirects are not followed.
 */
export class OutsideServer {
  readonly address: string;

  constructor(readonly connection: ServerConnection) {
    this.address = connection.address;
  }

  /** @throws OutsideError `crashed` without a complete answer, `deadline` if the signal aborted */
  async ask(path: string, question: ServerQuestion): Promise<ServerAnswer> {
    const { status, headers, body } = await this.stream(path, question);
    return { status, headers, bytes: await whole(body) };
  }

  /** Like {@link ask}, for an answer that is not buffered. */
  async stream(path: string, question: ServerQuestion): Promise<ServerStream> {
    const url = new URL(this.address + path);
    for (const [name, value] of Object.entries(question.query ?? {})) url.searchParams.set(name, value);
    refuseLink(url, this.connection);
    const where = this.address + path;
    try {
      const response = await begin(url, question, this.connection);
      const { statusCode: status = 0, headers } = response;
      const body = bodyOf(response, this.connection.maxBytes, (cause) => failureOf(where, question, cause));
      return { status, headers, body };
    } catch (cause) {
      throw failureOf(where, question, cause);
    }
  }

  /** Like {@link ask}, but treats any status other than success as a failure. */
  async get(path: string, question: ServerQuestion): Promise<ServerAnswer> {
    const answer = await this.ask(path, question);
    if (answer.status >= 200 && answer.status < 300) return answer;
    throw new OutsideError('crashed', `${this.address}${path} answered ${shownAnswer(answer)}`);
  }

  /** Like {@link get}, for a JSON answer. */
  async getJson(path: string, question: ServerQuestion): Promise<unknown> {
    const { bytes } = await this.get(path, question);
    return parseJson(bytes.toString(), this.address + path);
  }
}

/** @throws OutsideError */
export function parseJson(text: string, from: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new OutsideError('crashed', `${from} answered no JSON: ${outsideText(text, 100)}`, { cause });
  }
}

/** An error response for messages: its status and the beginning of its text. */
export function shownAnswer({ status, bytes }: ServerAnswer): string {
  return `${status}: ${outsideText(bytes.toString('utf8', 0, 1_000)) || 'nothing more'}`;
}

/** @throws OutsideError for a link-local address, which no run may name */
export function refuseLink({ hostname, origin }: URL, { isTrusted }: ServerConnection): void {
  if (isTrusted || !isLinkLocalHost(hostname)) return;
  throw new OutsideError('crashed', `${origin} is an address of the link itself, which no run may name`);
}

function begin(url: URL, question: ServerQuestion, connection: ServerConnection): Promise<IncomingMessage> {
  const { method = 'GET', body, headers = {}, signal } = question;
  const text = body === undefined ? undefined : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? tlsRequest : plainRequest)(url, {
      method,
      agent: false,
      signal,
      lookup: connection.isTrusted ? undefined : lookupBeyondLink,
      headers: {
        ...headers,
        ...(text === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
        ...(connection.key === undefined ? {} : { authorization: `Bearer ${connection.key}` }),
      },
    });
    request.on('error', reject);
    request.on('response', resolve);
    request.end(text);
  });
}

async function* bodyOf(
  response: IncomingMessage,
  maxBytes: number,
  failure: (cause: unknown) => OutsideError,
): AsyncGenerator<Buffer> {
  let length = 0;
  try {
    for await (const part of response as AsyncIterable<Buffer>) {
      length += part.length;
      if (length > maxBytes) throw new OutsideError('crashed', `its answer is longer than ${maxBytes} bytes`);
      yield part;
    }
  } catch (cause) {
    throw failure(cause);
  } finally {
    response.destroy();
  }
}

async function whole(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts);
}

function failureOf(where: string, { signal }: ServerQuestion, cause: unknown): OutsideError {
  if (cause instanceof OutsideError) return cause;
  if (signal.aborted) return new OutsideError('deadline', `${where} gave no answer in time`, { cause });
  return new OutsideError('crashed', `${where} cannot be reached: ${reasonOf(cause)}`, { cause });
}

function reasonOf(error: unknown): string {
  const { code, message } = error as Error & { code?: string };
  return code ?? message;
}
