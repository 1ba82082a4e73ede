import type { PolicyAnswer } from '../policy';
import { begunMessage, messageDelta, type Block, type CallBlock, type Reply } from './reply';

export type MessageEvent = { type: string } & Record<string, unknown>;

/** The events of a streamed message, in Anthropic's order. */
export class MessageEvents {
  /** Number of characters of the first block that were sent; undefined before it begins. */
  private sent: number | undefined;

  constructor(
    head: Pick<PolicyAnswer, 'model' | 'promptTokenIds'>,
    private readonly send: (event: MessageEvent) => void,
  ) {
    send({ type: 'message_start', message: begunMessage(head) });
    send({ type: 'ping' });
  }

  /** Adds text to a message without calls. */
  text(text: string): void {
    if (this.sent === undefined) this.begin(0, { type: 'text', text: '', citations: null });
    this.sent ??= 0;
    if (text === '') return;
    this.sent += text.length;
    this.delta(0, { type: 'text_delta', text });
  }

  /** Sends the remaining content, and the end. */
  end(answer: PolicyAnswer, { content, stop }: Reply): void {
    for (const [index, block] of content.entries()) {
      if (block.type === 'text') this.text(block.text.slice(this.sent ?? 0));
      else this.call(index, block);
      this.send({ type: 'content_block_stop', index });
    }
    this.send({ type: 'message_delta', ...messageDelta(answer, stop) });
    this.send({ type: 'message_stop' });
  }

  private call(index: number, block: CallBlock): void {
    this.begin(index, { ...block, input: {} });
    this.delta(index, { type: 'input_json_delta', partial_json: JSON.stringify(block.input) });
  }

  private begin(index: number, content_block: Block): void {
    this.send({ type: 'content_block_start', index, content_block });
  }

  private delta(index: number, delta: object): void {
    this.send({ type: 'content_block_delta', index, delta });
  }
}
