import { ModelError } from '../../errors';
import type { ImageGeometry } from '../base';

export interface SequentialPositionOptions {
  imageTokenId: number;
  /** number of placeholders of an image, anywhere in its part of the prompt */
  imageTokens: (image: ImageGeometry) => number;
}

/**
 * Positions of a model that numbers all tokens consecutively, text and image alike: row-major [3, T], equal on all
 * axes.
 * @throws ModelError `bad-input` if placeholders and images do not match.
 */
export function sequentialPositions({
  imageTokenId,
  imageTokens,
}: SequentialPositionOptions): (tokenIds: readonly number[], images: readonly ImageGeometry[]) => Int32Array {
  return (tokenIds, images) => {
    const found = tokenIds.reduce((count, id) => count + (id === imageTokenId ? 1 : 0), 0);
    const expected = images.reduce((count, image) => count + imageTokens(image), 0);
    if (found !== expected) {
      throw new ModelError(
        'bad-input',
        `${images.length} images need ${expected} placeholders ${imageTokenId}, the tokens hold ${found}`,
      );
    }
    const length = tokenIds.length;
    return Int32Array.from({ length: 3 * length }, (_, index) => index % length);
  };
}
