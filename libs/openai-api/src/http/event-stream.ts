import type { HttpResponse } from './messages';
import { toApiError, type ApiError } from '../errors';

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
  Connection: 'keep-alive',
  // Proxies would hold events back.
  'X-Accel-Buffering': 'no',
};

/** Server-sent events of one answer. Nothing is sent before the first of them, so that a failure until then has a status of its own. */
export class EventStream {
  constructor(private readonly response: HttpResponse) {}

  /** @param name of the event; none where the data says it */
  send(data: object, name?: string): void {
    this.write(`${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`);
  }

  end(): void {
    this.write('data: [DONE]\n\n');
    this.response.end();
  }

  /** Whether the failure could still be told. @throws the error where no event was sent yet */
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
