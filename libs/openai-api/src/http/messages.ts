import type { IncomingMessage, ServerResponse } from 'node:http';

/** What the body's parser and the router make of a request. */
export interface HttpRequest extends IncomingMessage {
  body?: unknown;
  params: Readonly<Record<string, string | string[] | undefined>>;
  /** Of the body's bytes. */
  digest?: string;
  /** Which of the keys was shown. */
  apiKey?: string;
}

export type HttpResponse = ServerResponse;

export function sendJson(response: HttpResponse, body: object, status = 200): void {
  if (response.destroyed) return;
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}
