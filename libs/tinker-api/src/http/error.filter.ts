import type { ServerResponse } from 'node:http';
import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { toApiError } from '@ui-rl/openai-api';

/** Whatever fails is told as `{detail, code}`. */
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
    response
      .writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' })
      .end(JSON.stringify({ detail: message, code }));
  }
}
