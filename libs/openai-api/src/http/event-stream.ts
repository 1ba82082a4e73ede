import type { HttpResponse } from './messages';
import { toApiError, type ApiError } from '../errors';

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
  Connection: 'keep-alive',
  // Otherwise proxies would buffer events.
  'X-Accel-Buffering': 'no',
};

/**
 * Server-sent events of one answer. Headers are sent with the first event, so that an earlier failure can set the
 * status.
 */
export class EventStream {
  constructor(private readonly response: HttpResponse) {}

  /** @param name of the event; undefined if the data contains it */
  send(data: object, name?: string): void {
    this.write(`${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`);
  }

  /** Ends a stream of OpenAI's API. */
  end(): void {
    this.write('data: [DONE]\n\n');
    this.close();
  }

  close(): void {
    this.response.end();
  }

  /** Sends a failure as an event. @throws the error if no event was sent yet */
  fail(error: unknown, asEvent: (error: ApiError) => { data: object; name?: string }): void {
    if (!this.response.headersSent) throw error;
    const told = toApiError(error);
    const { data, name } = asEvent(told);
    this.send(data, name);
    this.response.end();
  }

  private write(text: string): void {
    if (this.response.destroyed || this.response.writableEnded) return;
    if (!this.response.headersSent) this.response.writeHead(200, HEADERS);
    this.response.write(text);
  }
}
