import type { ServerResponse } from 'node:http';
import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { toApiError } from '@ui-rl/openai-api';

/**
 * Returns errors as `{detail, code}` with the body's length: the official client takes a 400 without a length for a
 * network fault, and retries the request for five minutes.
 */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<ServerResponse>();
    if (response.headersSent || response.destroyed) {
      response.end();
      return;
    }
    const { status, message, code } = toApiError(error);
    if (status === 429) response.setHeader('Retry-After', '1');
    const body = Buffer.from(JSON.stringify({ detail: message, code }));
    response
      .writeHead(status, {
        'Content-Type': 'application/json; charset=utf-8',
        'Content-Length': body.length,
      })
      .end(body);
  }
}
