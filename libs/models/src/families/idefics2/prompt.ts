import type { ImagePrompt } from '../common/model';

const AROUND = '<fake_token_around_image>';

/** A word directly after an image. In messages, text that spells a special token starts with U+E0FE. */
const WORD_BEHIND_IMAGE = /<fake_token_around_image>(?=[^\s<\uE0FE])/gu;

/**
 * Images in a prompt: each picture is enclosed in two tokens, which neighbours share. Text that follows on the same
 * line is a separate word, either by the tokenizer or by an inserted space.
 *
 * @param tokens of one picture.
 */
export function resampledPrompt(tokens: number): ImagePrompt {
  return {
    imageText: ({ grid: [pictures] }, imageToken) => ({
      text: `${AROUND}${imageToken}${AROUND}`.repeat(pictures),
      runs: Array<number>(pictures).fill(tokens),
    }),
    finishPrompt: (text, { spacesAdded }) => {
      const shared = text.replaceAll(`${AROUND}${AROUND}`, AROUND);
      return spacesAdded ? shared : shared.replaceAll(WORD_BEHIND_IMAGE, `${AROUND} `);
    },
    imageMarks: [AROUND],
  };
}
