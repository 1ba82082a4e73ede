import { tokenLogprob } from '../chat/reply';
import type { ApiError } from '../errors';
import type { AnswerToken, PolicyAnswer } from '../policy';
import { newId } from '../tools';
import { messageItem, textContent, type OutputItem } from './items';
import { resourceOf, type ResponseHead } from './resource';
import type { ResponseRequest } from './request';

export type ResponseEvent = { type: string; sequence_number: number } & Record<string, unknown>;

/** The events of a streamed response, in OpenAI's order. */
export class ResponseEvents {
  private next = 0;
  /** The message whose text is being streamed. */
  private message: { id: string; text: string; logprobs: object[] } | undefined;

  constructor(
    private readonly head: ResponseHead,
    private readonly request: ResponseRequest,
    private readonly send: (event: ResponseEvent) => void,
  ) {}

  begin(): void {
    const response = resourceOf(this.head, this.request);
    this.emit('response.created', { response });
    this.emit('response.in_progress', { response });
  }

  /** Adds a token of a plain message. */
  token(token: AnswerToken): void {
    const message = this.message ?? this.beginMessage();
    message.text += token.text;
    const logprobs = this.request.logprobs ? [tokenLogprob(token)] : [];
    message.logprobs.push(...logprobs);
    if (token.text === '' && logprobs.length === 0) return;
    this.emit('response.output_text.delta', { ...this.textPlace(message.id), delta: token.text, logprobs });
  }

  /**
   * @param output the parsed answer; if its tokens were streamed, only the message, which gets the id from the stream
   */
  end(answer: PolicyAnswer, output: OutputItem[]): { resource: object; items: OutputItem[] } {
    const items = output.map((item, index) => this.endItem(item, index));
    const response = resourceOf(this.head, this.request, { answer, output: items });
    this.emit(answer.finish === 'length' ? 'response.incomplete' : 'response.completed', { response });
    return { resource: response, items };
  }

  /** Ends the response with an error. */
  fail(error: ApiError): void {
    this.send(errorEvent(error, this.next));
    this.next += 1;
    this.emit('response.failed', { response: resourceOf(this.head, this.request, error) });
  }

  private beginMessage(): NonNullable<ResponseEvents['message']> {
    const message = { id: newId('msg'), text: '', logprobs: [] };
    this.message = message;
    const item = { ...messageItem(message.id, 'in_progress', '', []), content: [] };
    this.emit('response.output_item.added', { output_index: 0, item });
    this.emit('response.content_part.added', { ...this.textPlace(message.id), part: textContent('', []) });
    return message;
  }

  private endItem(item: OutputItem, index: number): OutputItem {
    if (item.type === 'message' && index === 0) return this.endMessage(item);
    this.emit('response.output_item.added', { output_index: index, item: begun(item) });
    if (item.type === 'function_call') {
      const place = { item_id: item.id, output_index: index };
      this.emit('response.function_call_arguments.delta', { ...place, delta: item.arguments });
      this.emit('response.function_call_arguments.done', {
        ...place,
        name: item.name,
        arguments: item.arguments,
      });
    }
    this.emit('response.output_item.done', { output_index: index, item });
    return item;
  }

  private endMessage(item: OutputItem): OutputItem {
    const [{ text, logprobs }] = item.content as { text: string; logprobs: object[] }[];
    if (this.message === undefined) {
      const { id } = this.beginMessage();
      if (text !== '')
        this.emit('response.output_text.delta', { ...this.textPlace(id), delta: text, logprobs });
    }
    const { id } = this.message as NonNullable<ResponseEvents['message']>;
    this.emit('response.output_text.done', { ...this.textPlace(id), text, logprobs });
    this.emit('response.content_part.done', { ...this.textPlace(id), part: textContent(text, logprobs) });
    const done = { ...item, id };
    this.emit('response.output_item.done', { output_index: 0, item: done });
    return done;
  }

  private textPlace(id: string): object {
    return { item_id: id, output_index: 0, content_index: 0 };
  }

  private emit(type: string, fields: object): void {
    this.send({ type, sequence_number: this.next, ...fields });
    this.next += 1;
  }
}

/** A failure in the form of HTTP streams, with the status, for which a WebSocket has no other field. */
export function errorEvent(error: ApiError, sequence_number = 0): ResponseEvent {
  const { status, type, message, param } = error;
  const code = error.code ?? type;
  return {
    type: 'error',
    sequence_number,
    status,
    error: { type, code, message, param },
    code,
    message,
    param,
  };
}

function begun(item: OutputItem): OutputItem {
  return { ...item, status: 'in_progress', ...(item.type === 'function_call' ? { arguments: '' } : {}) };
}
