import { Controller, Inject, Post, Req, Res } from '@nestjs/common';
import { sendJson, type HttpRequest, type HttpResponse } from './messages';
import {
  choice,
  completion,
  completionUsage,
  lastChoice,
  newHead,
  partialChoice,
  type CompletionHead,
} from '../completions/reply';
import { readCompletionRequest, type CompletionRequest } from '../completions/request';
import type { AnswerListener, AnswerToken, PolicyAnswer } from '../policy';
import { seedsOf } from '../sampling';
import { EventStream } from './event-stream';
import { Exchanges, type Exchange } from './exchange';

@Controller('v1/completions')
export class CompletionsController {
  constructor(@Inject(Exchanges) private readonly exchanges: Exchanges) {}

  @Post()
  create(@Req() request: HttpRequest, @Res() response: HttpResponse): Promise<void> {
    return this.exchanges.http('completions', request, response, async (exchange) => {
      const asked = readCompletionRequest(request.body);
      if (asked.stream) {
        await stream(asked, exchange, new EventStream(response));
        return;
      }
      const answers = await answersOf(asked, exchange);
      const choices = answers.map((answer, index) => choice(answer, index, asked));
      sendJson(response, completion(newHead(answers[0]), choices, completionUsage(answers, asked.choices)));
    });
  }
}

/** All answers to the first prompt, then those to the second … */
function answersOf(
  { policy: asked, prompts, seed, choices }: CompletionRequest,
  { policy, context }: Exchange,
  listenerOf?: (index: number) => AnswerListener,
): Promise<PolicyAnswer[]> {
  const seeds = seedsOf(seed, choices);
  const all = prompts.flatMap((prompt) =>
    seeds.map((each) => ({ ...asked, ...context, prompt, seed: each })),
  );
  return Promise.all(all.map((each, index) => policy.answer(each, listenerOf?.(index))));
}

async function stream(asked: CompletionRequest, exchange: Exchange, events: EventStream): Promise<void> {
  let head: CompletionHead | undefined;
  const seen = Array.from({ length: asked.prompts.length * asked.choices }, () => ({
    tokens: 0,
    characters: 0,
  }));
  const listenerOf = (index: number): AnswerListener => ({
    begins: (answer) => {
      head ??= newHead(answer);
    },
    token: (token) => {
      const before = seen[index];
      if (head !== undefined)
        events.send(completion(head, [partialChoice(partOf([token]), index, before.characters, asked)]));
      seen[index] = { tokens: before.tokens + 1, characters: before.characters + token.text.length };
    },
  });
  // Text that may be a stop text is withheld until that is decided.
  const isPlain = asked.policy.stop.length === 0;
  try {
    const answers = await answersOf(asked, exchange, isPlain ? listenerOf : undefined);
    head ??= newHead(answers[0]);
    for (const [index, answer] of answers.entries()) {
      const { tokens, characters } = seen[index];
      const rest = isPlain ? partOf(answer.tokens.slice(tokens)) : answer;
      if (rest.tokens.length > 0)
        events.send(completion(head, [partialChoice(rest, index, characters, asked)]));
      events.send(completion(head, [lastChoice(answer, index, asked)]));
    }
    if (asked.streamUsage) events.send(completion(head, [], completionUsage(answers, asked.choices)));
    events.end();
  } catch (error) {
    events.fail(error, ({ body }) => ({ data: body }));
  }
}

function partOf(tokens: AnswerToken[]): Pick<PolicyAnswer, 'tokens' | 'text'> {
  return { tokens, text: tokens.map(({ text }) => text).join('') };
}
