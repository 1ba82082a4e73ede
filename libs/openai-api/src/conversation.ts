import type { ChatMessage, ContentPart, ImageSize, ToolCall } from '@ui-rl/contracts';
import { invalid } from './errors';
import { MAX_BYTES_TOGETHER, MAX_IMAGES, MAX_PIXELS_TOGETHER, readImage, sizeOf } from './images';
import type { Conversation, PolicyAnswer } from './policy';

type Role = ChatMessage['role'];

/** Maximum number of messages of a request: a history of hundreds of turns. */
export const MAX_MESSAGES = 1_024;
/** Maximum number of parts of a message. */
export const MAX_PARTS = 512;

/** OpenAI's role → the chat template's. */
export const ROLES: ReadonlyMap<string, Role> = new Map([
  ['system', 'system'],
  ['developer', 'system'],
  ['user', 'user'],
  ['assistant', 'assistant'],
  ['tool', 'tool'],
]);

/** Builds a conversation message by message. */
export class ConversationBuilder {
  private readonly messages: ChatMessage[];
  private readonly images: Uint8Array[];
  private pixelsLeft = MAX_PIXELS_TOGETHER;
  private bytesLeft: number;

  /** @param begun history that the new messages continue */
  constructor(
    private readonly tools: object[] = [],
    begun: Pick<Conversation, 'messages' | 'images'> = { messages: [], images: [] },
  ) {
    this.messages = [...begun.messages];
    this.images = [...begun.images];
    this.bytesLeft = begun.images.reduce((left, { byteLength }) => left - byteLength, MAX_BYTES_TOGETHER);
  }

  add(role: Role, content: ContentPart[], toolCalls?: ToolCall[]): void {
    this.messages.push({ role, content, tool_calls: toolCalls });
  }

  addText(role: Role, text: string): void {
    this.add(role, [textPart(text)]);
  }

  /** Adds what the user saw after an action; it joins a message of the user that stands last. */
  addSeen(content: ContentPart[]): void {
    const last = this.messages.at(-1);
    if (last?.role !== 'user') return this.add('user', content);
    this.messages[this.messages.length - 1] = { role: 'user', content: [...last.content, ...content] };
  }

  /** Adds a call of the assistant; consecutive calls, and calls after its text, form one message. */
  addCall(call: ToolCall): void {
    const last = this.messages.at(-1);
    if (last?.role !== 'assistant') return this.add('assistant', [], [call]);
    const { role, content, tool_calls: before = [] } = last;
    this.messages[this.messages.length - 1] = { role, content, tool_calls: [...before, call] };
  }

  get lastImage(): Uint8Array | undefined {
    return this.images.at(-1);
  }

  /** @param param position of the image in the request */
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

/** A conversation with a system message in front of all others. */
export function withSystem(conversation: Conversation, text: string): Conversation {
  const message: ChatMessage = { role: 'system', content: [textPart(text)] };
  return { ...conversation, messages: [message, ...conversation.messages] };
}

/** A conversation with a text at the beginning of its system message. */
export function withInstructions(conversation: Conversation, text: string): Conversation {
  const [first, ...rest] = conversation.messages;
  if (first.role !== 'system') return withSystem(conversation, text);
  const system: ChatMessage = { role: 'system', content: [textPart(`${text}\n\n`), ...first.content] };
  return { ...conversation, messages: [system, ...rest] };
}

/** Size of the last image in a conversation. */
export async function lastScreen({ messages, images }: Conversation): Promise<ImageSize | undefined> {
  const shown = messages.flatMap(({ content }) => content.flatMap(({ image }) => image ?? []));
  const last = shown.at(-1);
  return last === undefined ? undefined : sizeOf(images[last]);
}

/** An answer that needed no policy. */
export function unsampled(model: string): PolicyAnswer {
  return { model, digest: '', promptTokenIds: [], tokens: [], text: '', finish: 'stop' };
}

/** A conversation with its sampled answer. */
export function withAnswer(conversation: Conversation, text: string): Conversation {
  const message: ChatMessage = { role: 'assistant', content: [textPart(text)] };
  return { ...conversation, messages: [...conversation.messages, message] };
}

/** Number of turns of a conversation: each is a user's message and everything up to the next one. */
export function turnsOf({ messages }: Pick<Conversation, 'messages'>): number {
  return messages.filter(({ role }) => role === 'user').length;
}

/** A conversation without its first turns; keeps the messages before them. */
export function withoutTurns(conversation: Conversation, count: number): Conversation {
  if (count === 0) return conversation;
  const { messages } = conversation;
  const starts = messages.flatMap(({ role }, index) => (role === 'user' ? [index] : []));
  return shownIn({
    ...conversation,
    messages: [...messages.slice(0, starts[0]), ...messages.slice(starts[count])],
  });
}

/** The conversation with only those images that its messages show. */
function shownIn(conversation: Conversation): Conversation {
  const images: Uint8Array[] = [];
  const part = (each: ContentPart): ContentPart =>
    each.image === undefined
      ? each
      : { type: 'image', image: images.push(conversation.images[each.image]) - 1 };
  const messages = conversation.messages.map(({ role, content, tool_calls: calls }) => ({
    role,
    content: content.map(part),
    tool_calls: calls,
  }));
  return { ...conversation, messages, images };
}
