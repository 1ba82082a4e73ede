import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { isForThisMachineOnly, isLoopback, type ListensAt } from '../page-addresses';
import { TokenGate } from './access';

const HEADERS: Record<string, string> = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
};

/**
 * Response headers and access control for all requests. A page for this machine only answers to loopback names, so
 * that a foreign site cannot reach it through its own name that resolves to 127.0.0.1 (DNS rebinding). A page for
 * others answers to addresses, to the name of its machine and to its configured name, and requires the token.
 */
export function security(listens: ListensAt, token: string | undefined) {
  const names = namesOf(listens);
  const gate =
    token === undefined ? undefined : new TokenGate(token, /^https:/.test(listens.publicUrl ?? ''));
  return (request: IncomingMessage, response: ServerResponse, next: () => void): void => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    if (!names(hostOf(request))) {
      const answer = `this monitor does not answer to the name "${hostOf(request).slice(0, 100)}": MONITOR_URL tells it by which it is reached`;
      response.writeHead(421, { 'Content-Type': 'text/plain' }).end(answer);
      return;
    }
    if (!isRead(request) && isFromElsewhere(request)) {
      const message = 'the page of another address may not change anything here';
      response.writeHead(403, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ statusCode: 403, message }));
      return;
    }
    if (gate === undefined || gate.passes(request, response)) next();
  };
}

function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

/**
 * Whether the page of another site, or of another port of this machine, sends the request: a browser adds the cookie
 * or, on loopback, needs none. Programs and old browsers send no such header; browsers of the latter kind ask first
 * before they send a `PATCH`, and get no permission.
 */
function isFromElsewhere({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  return site !== undefined && site !== 'same-origin' && site !== 'none';
}

/** Whether a page answers to a host name. */
function namesOf(listens: ListensAt): (host: string) => boolean {
  if (isForThisMachineOnly(listens)) return isLoopback;
  const { publicUrl } = listens;
  const known = [hostname().toLowerCase(), ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])];
  return (host) => isLoopback(host) || isIP(host.replace(/^\[|\]$/g, '')) !== 0 || known.includes(host);
}

/** Without the port. */
function hostOf({ headers }: IncomingMessage): string {
  return (headers.host ?? '').toLowerCase().replace(/:\d+$/, '');
}
