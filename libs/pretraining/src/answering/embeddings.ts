import type { FloatTensor } from '@ui-rl/models';
import { CHARACTER_CLASSES, characterOf, NOTHING } from '../reading/alphabet';
import { type Head, headWeight } from '../reading/heads';

/** Root mean square of the written embeddings: that of a new model of width 256. */
const SCALE = 0.04;

/**
 * Starts the embeddings of characters at the directions in which the reading head finds them in image tokens, so that
 * a character of a goal and the same character on the screen are similar before the decoder is trained.
 *
 * @param embeddings [vocabulary, width], changed in place
 * @param head the head of all characters of a token, weights [count · classes, width]
 * @param tokenOf id of a character's token
 */
export function embedAsRead(
  embeddings: FloatTensor,
  { head, weights }: { head: Head; weights: FloatTensor },
  tokenOf: (character: string) => number,
): void {
  const [, width] = embeddings.shape;
  if (weights.shape[0] !== head.count * CHARACTER_CLASSES || weights.shape[1] !== width)
    throw new Error(
      `${headWeight(head)} has the shape ${weights.shape.join('×')}, expected ${head.count * CHARACTER_CLASSES}×${width}`,
    );
  const directions = Array.from({ length: CHARACTER_CLASSES }, (_, index) =>
    meanRow(weights.data, width, { first: index, step: CHARACTER_CLASSES, count: head.count }),
  );
  const middle = meanRow(
    Float32Array.from(directions.slice(NOTHING + 1).flatMap((each) => [...each])),
    width,
    {
      first: 0,
      step: 1,
      count: CHARACTER_CLASSES - 1,
    },
  );
  // The last class is every other character.
  for (let index = NOTHING + 1; index < CHARACTER_CLASSES - 1; index++) {
    const direction = directions[index].map((value, i) => value - middle[i]);
    const size = Math.sqrt(direction.reduce((sum, value) => sum + value * value, 0) / width);
    const at = tokenOf(characterOf(index)) * width;
    embeddings.data.set(
      direction.map((value) => (value * SCALE) / size),
      at,
    );
  }
}

/** Mean of rows `first`, `first + step` … of a matrix. */
function meanRow(
  data: Float32Array,
  width: number,
  { first, step, count }: { first: number; step: number; count: number },
): Float32Array {
  const mean = new Float32Array(width);
  for (let row = 0; row < count; row++) {
    const at = (first + row * step) * width;
    for (let i = 0; i < width; i++) mean[i] += data[at + i] / count;
  }
  return mean;
}
