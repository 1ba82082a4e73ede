import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
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
}

/** @throws ApiError where a request may not be answered */
export function checkAccess({ headers }: IncomingMessage, { keys, loopbackOnly }: Access): void {
  const host = (headers.host ?? '').replace(/:\d+$/, '');
  if (loopbackOnly && !isLoopback(host)) {
    throw new ApiError(
      421,
      `this address does not answer to the name "${host.slice(0, 100)}"`,
      'misdirected_request',
    );
  }
  if (keys.length === 0) return;
  const [, shown] = /^Bearer (.+)$/i.exec(headers.authorization ?? '') ?? [];
  if (shown === undefined) {
    throw new ApiError(401, 'show an API key: Authorization: Bearer …', 'missing_api_key');
  }
  if (!keys.some((key) => isSame(shown, key)))
    throw new ApiError(401, 'the API key is none of those known here', 'invalid_api_key');
}

/** Takes as long wherever the first difference is. */
function isSame(found: string, expected: string): boolean {
  const digest = (text: string) => createHmac('sha256', 'compare').update(text).digest();
  return timingSafeEqual(digest(found), digest(expected));
}
