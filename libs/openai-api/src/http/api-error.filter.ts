import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { toApiError } from '../errors';
import { countRefusal } from './measures';
import { sendJson, type HttpResponse } from './messages';

/** Returns every error in OpenAI's form. */
@Catch()
export class ApiErrorFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    countRefusal(error);
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
