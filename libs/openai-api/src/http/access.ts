import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { ApiError } from '../errors';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i;

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** Who may ask. */
export interface Access {
  /** One of these has to be shown; none: whoever reaches the address. */
  keys: readonly string[];
  /** Answers to loopback names alone, so that no site in a browser reaches it through a name of its own that means 127.0.0.1. */
  loopbackOnly: boolean;
  /** Which header has the key as it is; default: `Authorization: Bearer …`. */
  header?: string;
}

/**
 * Which of the keys was shown, by its place: `1`, `2` …; `none` where none is asked for.
 * @throws ApiError where a request may not be answered
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
  const shown = header === undefined ? bearerOf(headers) : headers[header];
  if (typeof shown !== 'string') {
    throw new ApiError(401, `show an API key: ${header ?? 'Authorization: Bearer'} …`, 'missing_api_key');
  }
  const place = keys.map((key) => isSame(shown, key)).indexOf(true);
  if (place < 0) throw new ApiError(401, 'the API key is none of those known here', 'invalid_api_key');
  return String(place + 1);
}

function bearerOf({ authorization = '' }: IncomingHttpHeaders): string | undefined {
  return /^Bearer (.+)$/i.exec(authorization)?.[1];
}

/**
 * Any page in a browser of this machine may open a WebSocket here, or send a request that needs no permission. The browser says where the page
 * comes from: in `Origin`, or, with what a page embeds, links to or leads to by a form, in `Sec-Fetch-Site` alone.
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

/** Takes as long wherever the first difference is. */
function isSame(found: string, expected: string): boolean {
  const digest = (text: string) => createHmac('sha256', 'compare').update(text).digest();
  return timingSafeEqual(digest(found), digest(expected));
}
