import { Catch, HttpException, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { ApiError } from '@ui-rl/openai-api';
import type { ServerResponse } from 'node:http';
import { ServeError } from './serve-error';

/** Returns errors in the form of FastAPI, on which both protocols are based: `{detail}`. */
@Catch()
export class ServeErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('env:served');

  catch(error: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<ServerResponse>();
    if (response.headersSent || response.destroyed) {
      response.end();
      return;
    }
    const [status, detail] = this.told(error);
    if (status === 401) response.setHeader('WWW-Authenticate', 'Bearer realm="ui-rl"');
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
    response.end(JSON.stringify({ detail }));
  }

  private told(error: unknown): [status: number, detail: unknown] {
    if (error instanceof ServeError) {
      const { status, message, field } = error;
      if (status !== 422) return [status, message];
      return [status, [{ type: 'value_error', loc: field === undefined ? [] : [field], msg: message }]];
    }
    if (error instanceof ApiError) return [error.status, error.message];
    if (error instanceof HttpException) return [error.getStatus(), error.message];
    const { status, message } = error as { status?: unknown; message?: string };
    if (typeof status === 'number' && status >= 400 && status < 500) return [status, message];
    this.logger.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return [500, 'the request failed by no fault of the caller; the log of the server says why'];
  }
}
