import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { isOfMessages, messagesError } from '../anthropic/error';
import { toApiError } from '../errors';
import { countRefusal } from './measures';
import { sendJson, type HttpRequest, type HttpResponse } from './messages';

/** Returns every error in OpenAI's form; those of the Messages API in Anthropic's. */
@Catch()
export class ApiErrorFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    countRefusal(error);
    const { originalUrl = '' } = host.switchToHttp().getRequest<HttpRequest>();
    const response = host.switchToHttp().getResponse<HttpResponse>();
    if (response.headersSent || response.destroyed) {
      response.end();
      return;
    }
    const told = toApiError(error);
    if (told.status === 401) response.setHeader('WWW-Authenticate', 'Bearer realm="ui-rl"');
    if (told.status === 429) response.setHeader('Retry-After', '1');
    sendJson(response, isOfMessages(originalUrl) ? messagesError(told) : told.body, told.status);
  }
}
