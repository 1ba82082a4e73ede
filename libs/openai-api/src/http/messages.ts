import type { IncomingMessage, ServerResponse } from 'node:http';

/** Properties that the body parser and the router add to a request. */
export interface HttpRequest extends IncomingMessage {
  body?: unknown;
  /** The address, also of a request below a router. */
  originalUrl?: string;
  params: Readonly<Record<string, string | string[] | undefined>>;
  /** Digest of the body's bytes. */
  digest?: string;
  /** Index of the API key. */
  apiKey?: string;
}

export type HttpResponse = ServerResponse;

export function sendJson(response: HttpResponse, body: object, status = 200): void {
  if (response.destroyed) return;
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}
