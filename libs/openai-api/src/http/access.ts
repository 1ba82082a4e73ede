import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isSameSecret } from '@ui-rl/http';
import { ApiError } from '../errors';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i;

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** Access rules of an endpoint. */
export interface Access {
  /** Valid API keys; without keys, every client that reaches the address has access. */
  keys: readonly string[];
  /**
   * Answers only to loopback names, so that a website cannot reach it through its own host name that resolves to
   * 127.0.0.1 (DNS rebinding).
   */
  loopbackOnly: boolean;
  /** Header that contains the plain key. Default: `Authorization: Bearer …`, or Anthropic's `x-api-key`. */
  header?: string;
}

/**
 * The index of the key in the request: `1`, `2` …; `none` if no key is required.
 * @throws ApiError if the request is not allowed
 */
export function checkAccess({ headers }: IncomingMessage, { keys, loopbackOnly, header }: Access): string {
  const host = (headers.host ?? '').replace(/:\d+$/, '');
  if (loopbackOnly && !isLoopback(host)) {
    throw new ApiError(
      421,
      `this address does not answer to the name "${host.slice(0, 100)}"`,
      'misdirected_request',
    );
  }
  if (loopbackOnly) refuseForeignPages(headers);
  if (keys.length === 0) return 'none';
  const shown = header === undefined ? [bearerOf(headers), headers['x-api-key']] : [headers[header]];
  const given = shown.filter((each) => typeof each === 'string');
  if (given.length === 0) {
    const where = header ?? 'Authorization: Bearer … or x-api-key:';
    throw new ApiError(401, `show an API key: ${where} …`, 'missing_api_key');
  }
  const place = keys.map((key) => given.some((each) => isSameSecret(each, key))).indexOf(true);
  if (place < 0) throw new ApiError(401, 'the API key is none of those known here', 'invalid_api_key');
  return String(place + 1);
}

function bearerOf({ authorization = '' }: IncomingHttpHeaders): string | undefined {
  return /^Bearer (.+)$/i.exec(authorization)?.[1];
}

/**
 * Any page in a browser of this machine may open a WebSocket here, or send a simple cross-origin request. The browser
 * reports the page's origin in `Origin`, or, for embedded resources, links and forms, only in `Sec-Fetch-Site`.
 */
function refuseForeignPages({ origin, ...headers }: IncomingHttpHeaders): void {
  const isForeign =
    origin === undefined ? headers['sec-fetch-site'] === 'cross-site' : !isLoopback(hostOf(origin));
  if (!isForeign) return;
  const from = origin === undefined ? 'other sites' : `"${origin.slice(0, 100)}"`;
  throw new ApiError(403, `this address does not answer to pages of ${from}`, 'foreign_origin');
}

function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).hostname : '';
}
