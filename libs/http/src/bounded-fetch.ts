import { TransformStream } from 'node:stream/web';
import type { Agent, Response as UndiciResponse } from 'undici';
import { isLinkLocalHost, lookupBeyondLink } from './addresses';

/** Limits for responses of external servers. */
export interface FetchLimits {
  /** Maximum size of the decompressed body, in bytes. */
  maxBytes: number;
  /** This machine's owner chose the address, so link-local addresses are allowed. */
  isTrusted?: boolean;
}

/** The response body exceeds the limit. */
export class AnswerTooLong extends Error {
  override readonly name = 'AnswerTooLong';
}

/** An address, a name that resolves to it, or a redirect is link-local, where clouds serve credentials. */
export class LinkLocalRefused extends Error {
  override readonly name = 'LinkLocalRefused';
}

/** Why a request failed, to be appended to an address: `cannot be reached: ECONNREFUSED`. */
export function fetchFailure(error: unknown): string {
  if (error instanceof AnswerTooLong) return error.message;
  return `cannot be reached: ${innermost(error)}`;
}

/** `fetch` and clients based on it put the reason into the cause of their error. */
function innermost(error: unknown): string {
  const { cause, code, message } = error as { cause?: unknown; code?: unknown; message: string };
  return typeof cause === 'object' && cause !== null
    ? innermost(cause)
    : typeof code === 'string'
      ? code
      : message;
}

/**
 * `fetch` for external servers: reading a body fails with {@link AnswerTooLong} after `maxBytes` bytes, counted after
 * decompression. Link-local addresses fail with a cause of {@link LinkLocalRefused} unless `isTrusted`, also behind
 * names and redirects. Pass a signal: there is no other deadline.
 */
export function boundedFetch({ maxBytes, isTrusted = false }: FetchLimits): typeof fetch {
  const bounded = async (input: string | URL, init?: object): Promise<UndiciResponse> => {
    client ??= loadClient().catch((error: unknown) => {
      client = undefined;
      throw error;
    });
    const { fetch: unbounded, Response, trusted, untrusted } = await client;
    const response = await unbounded(input, { ...init, dispatcher: isTrusted ? trusted : untrusted });
    if (response.body === null) return response;
    const { status, statusText, headers } = response;
    const body = response.body.pipeThrough(countingStream(maxBytes));
    return new Response(body, { status, statusText, headers });
  };
  // undici's types and the platform's describe the same standard.
  return bounded as unknown as typeof fetch;
}

function countingStream(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let length = 0;
  return new TransformStream({
    transform(chunk, controller) {
      length += chunk.byteLength;
      if (length <= maxBytes) return controller.enqueue(chunk);
      controller.error(new AnswerTooLong(`answered more than ${maxBytes} bytes`));
    },
  });
}

type Client = Pick<typeof import('undici'), 'fetch' | 'Response'> & { trusted: Agent; untrusted: Agent };
let client: Promise<Client> | undefined;

/** Loaded with the first request: most processes send none. */
async function loadClient(): Promise<Client> {
  const { Agent, buildConnector, fetch, Response } = await import('undici');
  // The caller's signal is the only deadline: undici's own (300 s) would abort long training requests.
  const timeouts = { headersTimeout: 0, bodyTimeout: 0 };
  const connect = buildConnector({ lookup: lookupBeyondLink });
  const untrusted = new Agent({
    ...timeouts,
    connect: (options, done) => {
      if (!isLinkLocalHost(options.hostname)) return connect(options, done);
      done(
        new LinkLocalRefused(`${options.hostname} is a link-local address, which is not allowed here`),
        null,
      );
    },
  });
  return { fetch, Response, trusted: new Agent(timeouts), untrusted };
}
