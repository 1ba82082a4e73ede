import type { ChatMessage, ContentPart, ToolCall } from '@ui-rl/contracts';
import { invalid } from './errors';
import { MAX_BYTES_TOGETHER, MAX_IMAGES, MAX_PIXELS_TOGETHER, readImage } from './images';
import type { Conversation } from './policy';

type Role = ChatMessage['role'];

/** Messages of one request: a history of hundreds of turns. */
export const MAX_MESSAGES = 1_024;
/** Parts of one message. */
export const MAX_PARTS = 512;

/** OpenAI's name for who speaks → the chat template's. */
export const ROLES: ReadonlyMap<string, Role> = new Map([
  ['system', 'system'],
  ['developer', 'system'],
  ['user', 'user'],
  ['assistant', 'assistant'],
  ['tool', 'tool'],
]);

/** Puts a conversation together, message by message. */
export class ConversationBuilder {
  private readonly messages: ChatMessage[];
  private readonly images: Uint8Array[];
  private pixelsLeft = MAX_PIXELS_TOGETHER;
  private bytesLeft: number;

  /** @param begun what the new messages go on from */
  constructor(
    private readonly tools: object[] = [],
    begun: Pick<Conversation, 'messages' | 'images'> = { messages: [], images: [] },
  ) {
    this.messages = [...begun.messages];
    this.images = [...begun.images];
    this.bytesLeft = begun.images.reduce((left, { byteLength }) => left - byteLength, MAX_BYTES_TOGETHER);
  }

  add(role: Role, content: ContentPart[], toolCalls?: ToolCall[]): void {
    this.messages.push({ role, content, ...(toolCalls === undefined ? {} : { tool_calls: toolCalls }) });
  }

  addText(role: Role, text: string): void {
    this.add(role, [textPart(text)]);
  }

  /** A call of the assistant; those that follow one another, or what it said, are one message. */
  addCall(call: ToolCall): void {
    const last = this.messages.at(-1);
    if (last?.role !== 'assistant') return this.add('assistant', [], [call]);
    const { role, content, tool_calls: before = [] } = last;
    this.messages[this.messages.length - 1] = { role, content, tool_calls: [...before, call] };
  }

  get lastImage(): Uint8Array | undefined {
    return this.images.at(-1);
  }

  /** @param param where the image stands in the request */
  async image(url: string, param: string): Promise<ContentPart> {
    if (this.images.length === MAX_IMAGES)
      throw invalid(param, `is image ${MAX_IMAGES + 1}, expected at most ${MAX_IMAGES}`);
    const { png, pixels } = await readImage(url, param, this.pixelsLeft);
    this.pixelsLeft -= pixels;
    this.bytesLeft -= png.byteLength;
    if (this.bytesLeft < 0)
      throw invalid(param, `the images have more than ${MAX_BYTES_TOGETHER / 2 ** 20} MiB together`);
    return { type: 'image', image: this.images.push(png) - 1 };
  }

  /** @param param the field that holds the messages */
  done(param: string): Conversation {
    const { messages, images, tools } = this;
    if (messages.length === 0) throw invalid(param, 'holds no message');
    return { messages, images, tools };
  }
}

export function textPart(text: string): ContentPart {
  return { type: 'text', text };
}

/** A conversation with a message before all others. */
export function withSystem(conversation: Conversation, text: string): Conversation {
  const message: ChatMessage = { role: 'system', content: [textPart(text)] };
  return { ...conversation, messages: [message, ...conversation.messages] };
}

/** A conversation and the answer to it, as it was sampled. */
export function withAnswer(conversation: Conversation, text: string): Conversation {
  const message: ChatMessage = { role: 'assistant', content: [textPart(text)] };
  return { ...conversation, messages: [...conversation.messages, message] };
}

/** Turns of a conversation: each is a user's message and what follows it up to the next. */
export function turnsOf({ messages }: Pick<Conversation, 'messages'>): number {
  return messages.filter(({ role }) => role === 'user').length;
}

/** A conversation without its first turns; what stands before them stays. */
export function withoutTurns(conversation: Conversation, count: number): Conversation {
  if (count === 0) return conversation;
  const { messages } = conversation;
  const starts = messages.flatMap(({ role }, index) => (role === 'user' ? [index] : []));
  return shownIn({
    ...conversation,
    messages: [...messages.slice(0, starts[0]), ...messages.slice(starts[count])],
  });
}

/** The conversation with those images alone that its messages show. */
function shownIn(conversation: Conversation): Conversation {
  const images: Uint8Array[] = [];
  const part = (each: ContentPart): ContentPart =>
    each.image === undefined
      ? each
      : { type: 'image', image: images.push(conversation.images[each.image]) - 1 };
  const messages = conversation.messages.map(({ role, content, tool_calls: calls }) => ({
    role,
    content: content.map(part),
    ...(calls === undefined ? {} : { tool_calls: calls }),
  }));
  return { ...conversation, messages, images };
}
