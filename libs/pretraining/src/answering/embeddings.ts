import type { FloatTensor } from '@ui-rl/models';
import { CHARACTER_CLASSES, characterOf, NOTHING } from '../reading/alphabet';
import { type Head, headWeight } from '../reading/heads';
import { TOKEN } from '../reading/targets';

/** Root mean square of the written embeddings: that of a new model of width 256. */
const SCALE = 0.04;

/** A head of the reading stage with its weights [count · classes, width]. */
export interface ReadHead {
  head: Head;
  weights: FloatTensor;
}

/**
 * Starts the embeddings of characters at the directions in which the reading head finds them in image tokens, so that
 * a character of a goal and the same character on the screen are similar before the decoder is trained.
 *
 * @param embeddings [vocabulary, width], changed in place
 * @param characters the head of all characters of a token
 * @param tokenOf id of a character's token
 */
export function embedCharacters(
  embeddings: FloatTensor,
  characters: ReadHead,
  tokenOf: (character: string) => number,
): void {
  const directions = directionsOf(characters, embeddings);
  // The last class is every other character.
  for (let index = NOTHING + 1; index < CHARACTER_CLASSES - 1; index++) {
    write(embeddings, tokenOf(characterOf(index)), directions[index - 1]);
  }
}

/**
 * The same for the coordinates of one axis: at the center of a column (or row) of image tokens, the direction of its
 * class, and between two centers a mixture of both. Neighboring coordinates then start out similar.
 *
 * @param places the head of columns or rows
 * @param tokenOf id of the token of a coordinate in pixels
 */
export function embedCoordinates(
  embeddings: FloatTensor,
  places: ReadHead,
  tokenOf: (pixel: number) => number,
): void {
  const directions = directionsOf(places, embeddings);
  const last = directions.length - 1;
  for (let pixel = 0; pixel < directions.length * TOKEN; pixel++) {
    const at = Math.min(last, Math.max(0, (pixel - TOKEN / 2) / TOKEN));
    const [low, share] = [Math.floor(at), at % 1];
    const [a, b] = [directions[low], directions[Math.min(last, low + 1)]];
    write(
      embeddings,
      tokenOf(pixel),
      a.map((value, i) => value * (1 - share) + b[i] * share),
    );
  }
}

/** The weights of each class but the first, as the mean over a head's outputs, without what all classes share. */
function directionsOf({ head, weights }: ReadHead, { shape: [, width] }: FloatTensor): Float32Array[] {
  const expected = [head.count * head.classes, width];
  if (weights.shape.join() !== expected.join())
    throw new Error(`${headWeight(head)} is ${weights.shape.join(' × ')}, expected ${expected.join(' × ')}`);
  const means = Array.from({ length: head.classes - 1 }, (_, index) =>
    meanRow(weights.data, width, { first: index + 1, step: head.classes, count: head.count }),
  );
  const shared = new Float32Array(width);
  for (const mean of means) mean.forEach((value, i) => (shared[i] += value / means.length));
  return means.map((mean) => mean.map((value, i) => value - shared[i]));
}

function write(embeddings: FloatTensor, token: number, direction: Float32Array): void {
  const [, width] = embeddings.shape;
  const size = Math.sqrt(direction.reduce((sum, value) => sum + value * value, 0) / width);
  embeddings.data.set(
    direction.map((value) => (value * SCALE) / size),
    token * width,
  );
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
