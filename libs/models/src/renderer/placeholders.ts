import { ModelError } from '../errors';

/** A part of a prompt: text, or places that the features of an image take. */
export type PromptChunk =
  | { type: 'text'; tokens: number[] }
  /** `continues`: these places belong to the image of the chunk of an image before, text stands in between. */
  | { type: 'image'; sha256: string; tokens: number; continues?: true };

/**
 * Checks that a sequence holds as many placeholders as its images have features, and returns the number.
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
 * Splits token ids, placeholders included, into text and images.
 * @param images in order of their placeholders, with the features each has
 * @throws ModelError `bad-input` where there are not as many placeholders as features.
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

/** Where the run of placeholders, or of other tokens, that begins at a place ends. */
function endOfRun(tokenIds: readonly number[], from: number, imageTokenId: number): number {
  const isImage = tokenIds[from] === imageTokenId;
  let end = from + 1;
  while (end < tokenIds.length && (tokenIds[end] === imageTokenId) === isImage) end += 1;
  return end;
}
