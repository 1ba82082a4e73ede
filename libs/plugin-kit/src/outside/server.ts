import { request as plainRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { isIP } from 'node:net';
import { isLinkLocal, lookupBeyondLink } from './addresses';
import { OutsideError } from './errors';
import { outsideText } from './reply';

export interface ServerConnection {
  /** `http://host:port/path`, without a slash at the end. */
  address: string;
  /** Shown as `Authorization: Bearer`; undefined: nothing is. */
  key?: string | undefined;
  /** The owner of this machine named it, wherever it leads; otherwise addresses of the link are refused. */
  isTrusted: boolean;
  /** An answer beyond it is cut off. */
  maxBytes: number;
}

export interface ServerQuestion {
  method?: 'GET' | 'POST' | 'DELETE';
  query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  body?: unknown;
  signal: AbortSignal;
}

export interface ServerAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
}

/**
 * A server outside of the project. A question is sent once: an action that is sent again may be carried out twice. Each has a
 * connection of its own, so that none is lost to one that the server has just closed; redirects are not followed.
 */
export class OutsideServer {
  readonly address: string;

  constructor(readonly connection: ServerConnection) {
    this.address = connection.address;
  }

  /** @throws OutsideError `crashed` where no whole answer came, `deadline` where the signal ended it */
  async ask(path: string, question: ServerQuestion): Promise<ServerAnswer> {
    const url = new URL(this.address + path);
    for (const [name, value] of Object.entries(question.query ?? {})) url.searchParams.set(name, value);
    refuseLink(url, this.connection);
    try {
      return await exchange(url, question, this.connection);
    } catch (cause) {
      if (cause instanceof OutsideError) throw cause;
      const where = this.address + path;
      if (question.signal.aborted) {
        throw new OutsideError('deadline', `${where} gave no answer in time`, { cause });
      }
      throw new OutsideError('crashed', `${where} cannot be reached: ${reasonOf(cause)}`, { cause });
    }
  }

  /** {@link ask}, where anything but a success is a failure. */
  async get(path: string, question: ServerQuestion): Promise<ServerAnswer> {
    const answer = await this.ask(path, question);
    if (answer.status >= 200 && answer.status < 300) return answer;
    throw new OutsideError('crashed', `${this.address}${path} answered ${shownAnswer(answer)}`);
  }

  /** {@link get}, with an answer in JSON. */
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

/** An answer that is a refusal, for people: its status and how its text begins. */
export function shownAnswer({ status, bytes }: ServerAnswer): string {
  return `${status}: ${outsideText(bytes.toString('utf8', 0, 1_000)) || 'nothing more'}`;
}

/** @throws OutsideError where an address is one of the link, which no run may name */
export function refuseLink({ hostname, origin }: URL, { isTrusted }: ServerConnection): void {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  if (isTrusted || isIP(host) === 0 || !isLinkLocal(host)) return;
  throw new OutsideError('crashed', `${origin} is an address of the link itself, which no run may name`);
}

function exchange(url: URL, question: ServerQuestion, connection: ServerConnection): Promise<ServerAnswer> {
  const { method = 'GET', body, signal } = question;
  const text = body === undefined ? undefined : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? tlsRequest : plainRequest)(url, {
      method,
      agent: false,
      signal,
      lookup: connection.isTrusted ? undefined : lookupBeyondLink,
      headers: {
        ...(text === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
        ...(connection.key === undefined ? {} : { authorization: `Bearer ${connection.key}` }),
      },
    });
    request.on('error', reject);
    request.on('response', (response) => {
      const { statusCode: status = 0, headers } = response;
      const answer = collect(response, connection.maxBytes).then((bytes) => ({ status, headers, bytes }));
      answer.then(resolve, reject);
    });
    request.end(text);
  });
}

async function collect(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > maxBytes) {
      response.destroy();
      throw new OutsideError('crashed', `its answer is longer than ${maxBytes} bytes`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function reasonOf(error: unknown): string {
  const { code, message } = error as Error & { code?: string };
  return code ?? message;
}
