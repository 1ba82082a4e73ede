import type { ChatMessage, ChatTemplate, ContentPart } from '../chat';
import { ModelError } from '../errors';
import { call, question, rendered } from './answer-frame';
import { IMAGE_PLACE } from './control-tokens';
import type { NumberedMessage } from './images';

/**
 * How a template takes the content of tool messages with images: as parts; as parts of text; as one text; or not at
 * all.
 */
type Form = 'parts' | 'texts' | 'text' | 'none';

/**
 * Images of tool messages. Many chat templates write images of users only. There, a mark in the text of the tool
 * message keeps the image's place, and after rendering it becomes what the template writes for an image of a user.
 */
export class ToolImages {
  private known: { form: Form; image: string } | undefined;

  /** @param image text that the template writes for an image, at least: {@link Family.templateImage} */
  constructor(
    private readonly chat: ChatTemplate,
    private readonly image: string,
  ) {}

  /**
   * The messages in the form that the template takes.
   * @throws ModelError `bad-input` if it has no place for an image of a tool message
   */
  mark(messages: readonly NumberedMessage[]): ChatMessage[] {
    if (!messages.some(({ role }) => role === 'tool')) return [...messages];
    const { form } = this.template;
    return messages.map((message) => (message.role === 'tool' ? marked(message, form) : message));
  }

  /** A rendered text with the images in their places. */
  show(text: string): string {
    return text.includes(IMAGE_PLACE) ? text.replaceAll(IMAGE_PLACE, this.template.image) : text;
  }

  private get template(): { form: Form; image: string } {
    this.known ??= { form: this.form(), image: this.userImage() };
    return this.known;
  }

  /** Tries the forms on a minimal conversation. */
  private form(): Form {
    const image: ContentPart = { type: 'image' };
    const written = (content: ChatMessage['content']): string =>
      rendered(this.chat, [question, call, { role: 'tool', content }], true) ?? '';
    const isKept = (content: ChatMessage['content']) => KEPT.test(written(content));
    if (written([BEFORE, image, BEHIND]).split(this.image).length === 2) return 'parts';
    if (isKept([BEFORE, PLACE, BEHIND])) return 'texts';
    return isKept(`${BEFORE.text}${IMAGE_PLACE}${BEHIND.text}`) ? 'text' : 'none';
  }

  /** The template's text for an image between texts of a user, such as an image token with marks around it. */
  private userImage(): string {
    const user: ChatMessage = { role: 'user', content: [BEFORE, { type: 'image' }, BEHIND] };
    const [, between] = BETWEEN.exec(rendered(this.chat, [user], true) ?? '') ?? [];
    return between?.includes(this.image) === true ? between : this.image;
  }
}

const BEFORE = { type: 'text' as const, text: 'B6' };
const BEHIND = { type: 'text' as const, text: 'C8' };
const PLACE = { type: 'text' as const, text: IMAGE_PLACE };
const KEPT = new RegExp(`${BEFORE.text}\\s*${IMAGE_PLACE}\\s*${BEHIND.text}`, 'u');
const BETWEEN = new RegExp(`${BEFORE.text}(.*)${BEHIND.text}`, 'su');

function marked(message: NumberedMessage, form: Form): ChatMessage {
  const hasImages = message.content.some(({ type }) => type === 'image');
  if (form === 'none' && hasImages) {
    throw new ModelError(
      'bad-input',
      'a tool message holds an image, and the chat template has no place for it: put the image into a message of the user',
    );
  }
  if (form === 'parts' || form === 'none' || (form === 'texts' && !hasImages)) return message;
  const texts = message.content.map((part) => (part.type === 'image' ? PLACE : part));
  return { ...message, content: form === 'texts' ? texts : texts.map(({ text }) => text).join('') };
}
