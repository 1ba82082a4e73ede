import { Controller, Inject, Post, Req, Res } from '@nestjs/common';
import { sendJson, type HttpRequest, type HttpResponse } from './messages';
import {
  chatCompletion,
  firstChunk,
  lastChunk,
  newChunkHead,
  tokenChunk,
  usageChunk,
  wholeChunk,
  type ChunkHead,
} from '../chat/reply';
import { readChatRequest, type ChatRequest } from '../chat/request';
import type { AnswerHead, AnswerListener, PolicyAnswer } from '../policy';
import { seedsOf } from '../sampling';
import { EventStream } from './event-stream';
import { Exchanges, type Exchange } from './exchange';

@Controller('v1/chat/completions')
export class ChatController {
  constructor(@Inject(Exchanges) private readonly exchanges: Exchanges) {}

  @Post()
  create(@Req() request: HttpRequest, @Res() response: HttpResponse): Promise<void> {
    return this.exchanges.http('chat', request, response, async (exchange) => {
      const chat = await readChatRequest(request.body);
      if (chat.stream) await stream(chat, exchange, new EventStream(response));
      else sendJson(response, chatCompletion(await answersOf(chat, exchange), chat));
    });
  }
}

/** @param listenerOf creates the listener of each answer by index */
function answersOf(
  { policy: asked, seed, choices }: ChatRequest,
  { policy, context }: Exchange,
  listenerOf?: (index: number) => AnswerListener,
): Promise<PolicyAnswer[]> {
  return Promise.all(
    seedsOf(seed, choices).map((each, index) =>
      policy.answer({ ...asked, ...context, choices, seed: each }, listenerOf?.(index)),
    ),
  );
}

async function stream(chat: ChatRequest, exchange: Exchange, events: EventStream): Promise<void> {
  let head: ChunkHead | undefined;
  const begun = new Set<number>();
  const seen = Array.from({ length: chat.choices }, () => 0);
  const begin = (index: number, answer: AnswerHead): ChunkHead => {
    head ??= newChunkHead(answer);
    if (!begun.has(index)) events.send(firstChunk(head, index, answer.promptTokenIds, chat));
    begun.add(index);
    return head;
  };
  const listenerOf = (index: number): AnswerListener => ({
    begins: (answer) => void begin(index, answer),
    token: (token) => {
      if (head !== undefined) events.send(tokenChunk(head, index, [token], chat));
      seen[index] += 1;
    },
  });
  // Text that may be a call or a stop text is withheld until that is decided.
  const isPlain = !chat.calls && chat.policy.stop.length === 0;
  try {
    const answers = await answersOf(chat, exchange, isPlain ? listenerOf : undefined);
    for (const [index, answer] of answers.entries()) {
      const chunks = begin(index, answer);
      const rest = answer.tokens.slice(seen[index]);
      if (!isPlain) events.send(wholeChunk(chunks, index, answer, chat));
      else if (rest.length > 0) events.send(tokenChunk(chunks, index, rest, chat));
      events.send(lastChunk(chunks, index, answer, chat));
    }
    if (chat.streamUsage) events.send(usageChunk(head as ChunkHead, answers));
    events.end();
  } catch (error) {
    events.fail(error, ({ body }) => ({ data: body }));
  }
}
