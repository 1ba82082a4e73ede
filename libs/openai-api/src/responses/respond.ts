import { lastScreen, turnsOf, unsampled, withAnswer, withoutTurns, withSystem } from '../conversation';
import { ApiError, assertCaller, toApiError } from '../errors';
import type { AnswerListener, Conversation, PolicyAnswer, PolicyPrompt, PolicyRequest } from '../policy';
import { newId } from '../tools';
import { now } from '../usage';
import { ResponseEvents, type ResponseEvent } from './events';
import { outputOf, screenshotItem, type OutputItem } from './items';
import { readResponseRequest, type Known, type ResponseRequest } from './request';
import { resourceOf, type ResponseHead } from './resource';

export interface Responding extends Known {
  /** Of the caller. */
  context: Pick<PolicyRequest, 'signal' | 'attempt'>;
}

interface Answered {
  answer: PolicyAnswer;
  output: OutputItem[];
  /** Including the answer. */
  conversation: Conversation;
}

/** A valid request to `/v1/responses`. */
export class PendingResponse {
  private constructor(
    readonly request: ResponseRequest,
    private readonly responding: Responding,
  ) {}

  /** @throws ApiError that names the field */
  static async read(body: unknown, responding: Responding): Promise<PendingResponse> {
    return new PendingResponse(await readResponseRequest(body, responding), responding);
  }

  /** The whole answer. */
  async whole(): Promise<object> {
    const { answer, output, conversation } = await this.answer();
    const resource = resourceOf(headOf(answer), this.request, { answer, output });
    this.keep(resource, conversation, output);
    return resource;
  }

  /** Streams the events of the answer. @throws a failure before the first event; later failures become events */
  async stream(send: (event: ResponseEvent) => void): Promise<void> {
    const { callsFunctions, computer } = this.request;
    let events: ResponseEvents | undefined;
    const begin = (head: Pick<PolicyAnswer, 'model'>): ResponseEvents => {
      events ??= new ResponseEvents(headOf(head), this.request, send);
      events.begin();
      return events;
    };
    let seen = 0;
    const listener: AnswerListener = {
      begins: (head) => void begin(head),
      token: (token) => {
        events?.token(token);
        seen += 1;
      },
    };
    // Text that may be a call is withheld until that is decided.
    const isText = !callsFunctions && computer === undefined;
    try {
      const { answer, output, conversation } = await this.answer(isText ? listener : undefined);
      events ??= begin(answer);
      if (isText) for (const token of answer.tokens.slice(seen)) events.token(token);
      const { resource, items } = events.end(answer, output);
      this.keep(resource, conversation, items);
    } catch (error) {
      if (events === undefined) throw error;
      events.fail(toApiError(error));
    }
  }

  private async answer(listener?: AnswerListener): Promise<Answered> {
    const { request, responding } = this;
    const { policy, store } = responding;
    const { computer, conversation } = request;
    if (computer !== undefined && (await this.isBlind())) {
      return {
        answer: unsampled(request.policy.model),
        output: [screenshotItem(computer, store)],
        conversation,
      };
    }
    const answer = await this.sample(listener);
    const output = await outputOf(answer, { request, policy, store, conversation });
    return { answer, output, conversation: withAnswer(conversation, answer.text) };
  }

  /** Whether the conversation begins without a screenshot: the answer then asks for one. */
  private async isBlind(): Promise<boolean> {
    const { calls, conversation } = this.request;
    return calls.length === 0 && (await lastScreen(conversation)) === undefined;
  }

  /** With `truncation: auto`, drops the oldest turns if the conversation is too long. */
  private async sample(listener?: AnswerListener): Promise<PolicyAnswer> {
    const { request, responding } = this;
    const { policy, context } = responding;
    const last = request.truncation === 'auto' ? turnsOf(request.conversation) - 1 : 0;
    for (let dropped = await this.leastDropped(last); ; dropped += 1) {
      assertCaller(context.signal);
      try {
        return await policy.answer(
          { ...request.policy, ...context, prompt: await this.promptWithout(dropped) },
          listener,
        );
      } catch (error) {
        const isTooLong = error instanceof ApiError && error.code === 'context_length_exceeded';
        if (!isTooLong || dropped >= last) throw error;
      }
    }
  }

  /** Minimum number of turns to drop, by binary search, because a conversation may have a thousand. */
  private async leastDropped(most: number): Promise<number> {
    const { policy, context } = this.responding;
    let [least, enough] = [0, policy.fits === undefined ? 0 : most];
    while (least < enough) {
      assertCaller(context.signal);
      const middle = least === 0 && enough === most ? 0 : Math.floor((least + enough) / 2);
      if (await policy.fits!(await this.promptWithout(middle), context.signal)) enough = middle;
      else least = middle + 1;
    }
    return least;
  }

  private async promptWithout(turns: number): Promise<PolicyPrompt> {
    const conversation = await this.instructed(withoutTurns(this.request.conversation, turns));
    return { kind: 'conversation', conversation };
  }

  /** Adds the system message: the caller's instructions, and those for the computer tool. */
  private async instructed(conversation: Conversation): Promise<Conversation> {
    const { instructions, computer } = this.request;
    const screen = computer === undefined ? undefined : await lastScreen(conversation);
    const own = screen === undefined ? null : await this.responding.policy.computer.instructions(screen);
    const text = [own, instructions].filter((each) => each !== null).join('\n\n');
    return text === '' ? conversation : withSystem(conversation, text);
  }

  private keep(resource: object, conversation: Conversation, output: readonly OutputItem[]): void {
    const { request, responding } = this;
    const { id } = resource as { id: string };
    const called = output.flatMap(({ call_id }) => (typeof call_id === 'string' ? [call_id] : []));
    const response = {
      resource,
      conversation,
      calls: [...request.calls, ...called],
    };
    responding.connection?.keep(id, response);
    if (request.store) responding.store.put(id, response);
  }
}

function headOf({ model }: Pick<PolicyAnswer, 'model'>): ResponseHead {
  return { id: newId('resp'), createdAt: now(), model };
}
