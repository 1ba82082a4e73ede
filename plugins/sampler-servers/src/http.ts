import { boundedFetch, fetchFailure } from '@ui-rl/plugin-kit';
import { SamplerError } from './errors';

/** Address and credentials of a server. */
export interface Connection {
  /** `http://host:port`, without a trailing slash. */
  readonly address: string;
  readonly apiKey: string | undefined;
  /** Time limit of an answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Additional request headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Aborts a request whose answer is no longer needed. */
  readonly signal?: AbortSignal | undefined;
}

/** A failed request: another server, or the same one later, may succeed. */
export class ServerFailure extends SamplerError {
  constructor(
    message: string,
    /** HTTP status; undefined without a response. */
    readonly status: number | undefined,
    options?: ErrorOptions,
  ) {
    super('server', message, options);
  }

  /** Whether the server is currently unusable. */
  get isGone(): boolean {
    return this.status === undefined;
  }
}

const SHOWN = 300;
/** Log-probabilities of a long prompt take about 100 bytes per token. */
const MAX_ANSWER_BYTES = 64 * 2 ** 20;

/** The answer to a request, as text. A request that times out is aborted, so that the server stops it, too. */
export async function call(server: Connection, path: string, body?: unknown): Promise<string> {
  const url = server.address + path;
  const headers = {
    ...server.headers,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(server.apiKey === undefined ? {} : { authorization: `Bearer ${server.apiKey}` }),
  };
  const late = AbortSignal.timeout(server.timeoutMs);
  const signal = server.signal === undefined ? late : AbortSignal.any([late, server.signal]);
  // A run file names the address; if there is a key, this machine's owner trusts the address.
  const ask = boundedFetch({ maxBytes: MAX_ANSWER_BYTES, isTrusted: server.apiKey !== undefined });
  let response: Response;
  let text: string;
  try {
    const method = body === undefined ? 'GET' : 'POST';
    response = await ask(url, { method, headers, signal, body: JSON.stringify(body), redirect: 'error' });
    text = await response.text();
  } catch (cause) {
    server.signal?.throwIfAborted();
    const why = late.aborted ? `gave no answer within ${server.timeoutMs / 1000} s` : fetchFailure(cause);
    throw new ServerFailure(`${url} ${why}`, undefined, { cause });
  }
  if (response.ok) return text;
  const message = `${url} answered ${response.status}: ${text.trim().slice(0, SHOWN) || 'nothing more'}`;
  const mayPass = response.status >= 500 || [404, 408, 429].includes(response.status);
  if (mayPass) throw new ServerFailure(message, response.status);
  const isKey = response.status === 401 || response.status === 403;
  throw isKey
    ? new SamplerError('server', `${message}. Is its key in UIRL_SAMPLER_KEYS of the learner?`)
    : new SamplerError('request', message);
}

/** {@link call}, with an answer in JSON. */
export async function callJson(server: Connection, path: string, body?: unknown): Promise<unknown> {
  const text = await call(server, path, body);
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new ServerFailure(`${server.address + path} answered no JSON: ${text.slice(0, SHOWN)}`, 200, {
      cause,
    });
  }
}
