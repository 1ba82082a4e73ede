import type { ImagePrompt } from '../common/model';

const AROUND = '<fake_token_around_image>';

/** A word right behind an image; messages that spell a special token stand behind U+E0FE. */
const WORD_BEHIND_IMAGE = /<fake_token_around_image>(?=[^\s<\uE0FE])/gu;

/**
 * Images in a prompt: each picture between two tokens, of which neighbours share one. What follows in the same line is a word
 * of its own, by the tokenizer or by a space.
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
