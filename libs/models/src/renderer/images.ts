import { ModelError } from '../errors';
import type { ChatMessage, ContentPart } from '../chat';

/** A conversation in which every image part has an image index. */
export type NumberedMessage = Omit<ChatMessage, 'content'> & { content: ContentPart[] };

/**
 * Assigns every image part its index among `count` images: the index of the part, or the order of appearance if no
 * part has one.
 * Plain strings become text parts.
 *
 * @throws ModelError `bad-input` if parts and images do not match.
 */
export function numberImages(messages: readonly ChatMessage[], count: number): NumberedMessage[] {
  const parts = messages
    .flatMap(({ content }) => (typeof content === 'string' ? [] : content))
    .filter(isImage);
  const numbered = parts.filter(({ image }) => image !== undefined && image !== null).length;
  if (numbered !== 0 && numbered !== parts.length) {
    throw new ModelError(
      'bad-input',
      `${numbered} of ${parts.length} image parts name their image; expected all or none`,
    );
  }
  if (numbered === 0 && parts.length !== count) {
    throw new ModelError('bad-input', `the messages hold ${parts.length} images, but ${count} were given`);
  }
  let next = 0;
  const indexOf = (part: ContentPart): number => {
    const index = numbered === 0 ? next++ : (part.image as number);
    if (Number.isInteger(index) && index >= 0 && index < count) return index;
    throw new ModelError(
      'bad-input',
      `a message names image ${index}, but ${count} were given (counted from 0)`,
    );
  };
  return messages.map((message) => ({
    ...message,
    content:
      typeof message.content === 'string'
        ? [{ type: 'text', text: message.content }]
        : message.content.map((part) => (isImage(part) ? { type: 'image', image: indexOf(part) } : part)),
  }));
}

/** Indices of the images in the messages, in order of appearance. */
export function imagesOf(messages: readonly NumberedMessage[]): number[] {
  return messages.flatMap(({ content }) => content.filter(isImage).map(({ image }) => image as number));
}

function isImage(part: ContentPart): boolean {
  return part.type === 'image';
}
