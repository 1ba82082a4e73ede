import { ModelError } from '../../errors';
import type { ImageGeometry } from '../base';
import type { VisionLanguageModel } from './model';

/**
 * Positions of every token, row-major [3, T]. A model that has none numbers all tokens consecutively,
 * text and image alike, equal on all axes.
 * @throws ModelError `bad-input` if placeholders and images do not match.
 */
export function positionsOf(
  { positions, imageTokenId, vision }: VisionLanguageModel,
  tokenIds: readonly number[],
  images: readonly ImageGeometry[],
): Int32Array {
  if (positions !== undefined) return positions(tokenIds, images);
  const found = tokenIds.reduce((count, id) => count + (id === imageTokenId ? 1 : 0), 0);
  const expected = images.reduce((count, image) => count + vision.inputs.imageTokens(image), 0);
  if (found !== expected) {
    throw new ModelError(
      'bad-input',
      `${images.length} images need ${expected} placeholders ${imageTokenId}, the tokens hold ${found}`,
    );
  }
  const length = tokenIds.length;
  return Int32Array.from({ length: 3 * length }, (_, index) => index % length);
}
