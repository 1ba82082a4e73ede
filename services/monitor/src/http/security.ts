import type { IncomingMessage, ServerResponse } from 'node:http';

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

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host) || host === '::1';
}

/**
 * Response headers for every answer. A page bound to the loopback answers only to loopback names, so that no foreign site
 * reaches it through a name of its own that resolves to 127.0.0.1.
 */
export function security(boundTo: string) {
  const onlyLoopback = isLoopback(boundTo);
  return (request: IncomingMessage, response: ServerResponse, next: () => void): void => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    if (onlyLoopback && !isLoopback(request.headers.host ?? '')) {
      response.writeHead(421, { 'Content-Type': 'text/plain' }).end('this monitor answers to localhost only');
      return;
    }
    next();
  };
}
