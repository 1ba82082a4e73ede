import { Logger } from '@nestjs/common';
import type { HttpResponse } from './messages';
import { ApiError } from '../errors';

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
  Connection: 'keep-alive',
  // Proxies would hold events back.
  'X-Accel-Buffering': 'no',
};

const logger = new Logger('openai');

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

/** What a caller is told of an error: of one that is not theirs nothing but that there was one, which the log has. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const [status, message] = statusOf(error);
  if (status < 500) return new ApiError(status, message, status === 413 ? 'request_too_large' : null);
  logger.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return new ApiError(
    500,
    'the request failed by no fault of the caller; the log of the server says why',
    'internal_error',
  );
}

/** Errors of Nest and of the body's parser know their status. */
function statusOf(error: unknown): [number, string] {
  if (!(error instanceof Error)) return [500, ''];
  const { getStatus, status } = error as { getStatus?: () => number; status?: unknown };
  const found = getStatus?.call(error) ?? status;
  return [typeof found === 'number' ? found : 500, error.message];
}
