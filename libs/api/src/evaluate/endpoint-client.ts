import { serverError } from '@ui-rl/http';
import OpenAI, { type APIError } from 'openai';

/** A client of OpenAI's API whose errors contain the server's message in whichever form the server sends it. */
export class EndpointClient extends OpenAI {
  protected override makeStatusError(
    status: number,
    body: object | undefined,
    message: string | undefined,
    headers: Headers,
  ): APIError {
    const error = body === undefined ? undefined : serverError(body);
    return super.makeStatusError(status, { error }, message, headers);
  }
}
