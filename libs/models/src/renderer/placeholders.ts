import { ModelError } from '../errors';

/** A part of a prompt: text, or the placeholders of an image's features. */
export type PromptChunk =
  | { type: 'text'; tokens: number[] }
  /** `continues`: these placeholders belong to the image of the previous image chunk, with text in between. */
  | { type: 'image'; sha256: string; tokens: number; continues?: true };

/**
 * Verifies that a sequence has as many placeholders as its images have features, and returns the number.
 * @throws ModelError `bad-input` otherwise.
 */
export function assertPlaceholders(
  tokenIds: readonly number[],
  images: readonly { tokens: number }[],
  imageTokenId: number,
): number {
  const placeholders = tokenIds.reduce((sum, id) => sum + (id === imageTokenId ? 1 : 0), 0);
  const features = images.reduce((sum, { tokens }) => sum + tokens, 0);
  if (placeholders === features) return features;
  throw new ModelError(
    'bad-input',
    `the tokens hold ${placeholders} image placeholders, but their ${images.length} images have ${features} features`,
  );
}

/**
 * Splits token ids, including placeholders, into text and images.
 * @param images in order of their placeholders, with the number of features of each
 * @throws ModelError `bad-input` if the number of placeholders differs from the number of features.
 */
export function promptChunks(
  tokenIds: readonly number[],
  images: readonly { sha256: string; tokens: number }[],
  imageTokenId: number,
): PromptChunk[] {
  assertPlaceholders(tokenIds, images, imageTokenId);
  const chunks: PromptChunk[] = [];
  let [image, taken] = [0, 0];
  for (let place = 0; place < tokenIds.length;) {
    const end = endOfRun(tokenIds, place, imageTokenId);
    if (tokenIds[place] !== imageTokenId) {
      chunks.push({ type: 'text', tokens: tokenIds.slice(place, end) });
      place = end;
      continue;
    }
    const { sha256, tokens: features } = images[image];
    const tokens = Math.min(end - place, features - taken);
    chunks.push({ type: 'image', sha256, tokens, ...(taken > 0 ? { continues: true } : {}) });
    place += tokens;
    taken += tokens;
    if (taken === features) [image, taken] = [image + 1, 0];
  }
  return chunks;
}

/** End of the run of placeholders, or of other tokens, that starts at an index. */
function endOfRun(tokenIds: readonly number[], from: number, imageTokenId: number): number {
  const isImage = tokenIds[from] === imageTokenId;
  let end = from + 1;
  while (end < tokenIds.length && (tokenIds[end] === imageTokenId) === isImage) end += 1;
  return end;
}
