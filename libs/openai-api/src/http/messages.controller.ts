import { Controller, Inject, Post, Req, Res } from '@nestjs/common';
import { messagesError } from '../anthropic/error';
import { MessageEvents } from '../anthropic/events';
import { messageOf } from '../anthropic/reply';
import { readCountRequest, readMessagesRequest, type MessagesRequest } from '../anthropic/request';
import { respond } from '../anthropic/respond';
import type { AnswerHead, AnswerListener } from '../policy';
import { EventStream } from './event-stream';
import { Exchanges, type Exchange } from './exchange';
import { sendJson, type HttpRequest, type HttpResponse } from './messages';

/** Anthropic's Messages API. */
@Controller('v1/messages')
export class MessagesController {
  constructor(@Inject(Exchanges) private readonly exchanges: Exchanges) {}

  @Post()
  create(@Req() request: HttpRequest, @Res() response: HttpResponse): Promise<void> {
    return this.exchanges.http('messages', request, response, async (exchange) => {
      const asked = await readMessagesRequest(request.body, exchange);
      if (asked.stream) return stream(asked, exchange, new EventStream(response));
      const { answer, reply } = await respond(asked, exchange);
      sendJson(response, messageOf(answer, reply));
    });
  }

  @Post('count_tokens')
  count(@Req() request: HttpRequest, @Res() response: HttpResponse): Promise<void> {
    return this.exchanges.http('countTokens', request, response, async (exchange) => {
      const prompt = await readCountRequest(request.body, exchange);
      const { signal } = exchange.context;
      sendJson(response, { input_tokens: await exchange.policy.countTokens({ ...prompt, signal }) });
    });
  }
}

async function stream(asked: MessagesRequest, exchange: Exchange, events: EventStream): Promise<void> {
  let message: MessageEvents | undefined;
  const begin = (head: Pick<AnswerHead, 'model' | 'promptTokenIds'>): MessageEvents =>
    (message ??= new MessageEvents(head, (event) => events.send(event, event.type)));
  const listener: AnswerListener = {
    begins: (head) => void begin(head),
    token: ({ text }) => message?.text(text),
  };
  // Text that may be a call or a stop text is withheld until that is decided.
  const isPlain = !asked.calls && asked.computer === undefined && asked.policy.stop.length === 0;
  try {
    const { answer, reply } = await respond(asked, exchange, isPlain ? listener : undefined);
    begin(answer).end(answer, reply);
    events.close();
  } catch (error) {
    events.fail(error, (told) => ({ data: messagesError(told), name: 'error' }));
  }
}
