import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { sendJson, type HttpResponse } from './messages';
import { toApiError } from './event-stream';

/** Whatever fails is told in OpenAI's form. */
@Catch()
export class ApiErrorFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<HttpResponse>();
    if (response.headersSent || response.destroyed) {
      response.end();
      return;
    }
    const told = toApiError(error);
    if (told.status === 401) response.setHeader('WWW-Authenticate', 'Bearer realm="ui-rl"');
    if (told.status === 429) response.setHeader('Retry-After', '1');
    sendJson(response, told.body, told.status);
  }
}
