import { Random } from '@ui-rl/random';
import { CHARACTER_CLASSES, classOf } from '../reading/alphabet';
import { readingHeads } from '../reading/heads';
import { embedCharacters, embedCoordinates } from './embeddings';

const WIDTH = 32;
const head = readingHeads().find(({ name }) => name === 'characters')!;
const random = new Random(3);
const normal = () => random.next() + random.next() + random.next() - 1.5;

test('a feature in which the head finds a character is most similar to the embedding of that character', () => {
  const shared = Float32Array.from({ length: WIDTH }, normal);
  const own = Array.from({ length: CHARACTER_CLASSES }, () => Float32Array.from({ length: WIDTH }, normal));
  const rows = head.count * CHARACTER_CLASSES;
  const weights = {
    shape: [rows, WIDTH],
    data: Float32Array.from({ length: rows * WIDTH }, (_, at) => {
      const [row, i] = [Math.floor(at / WIDTH), at % WIDTH];
      return shared[i] + own[row % CHARACTER_CLASSES][i] + 0.3 * normal();
    }),
  };
  const embeddings = { shape: [256, WIDTH], data: new Float32Array(256 * WIDTH) };
  embedCharacters(embeddings, { head, weights }, (character) => character.charCodeAt(0));
  const embeddingOf = (code: number) => embeddings.data.subarray(code * WIDTH, (code + 1) * WIDTH);
  for (const character of ['a', 'Z', '7', '~']) {
    const feature = own[classOf(character)];
    const similarities = Array.from({ length: 256 }, (_, code) =>
      embeddingOf(code).reduce((sum, value, i) => sum + value * feature[i], 0),
    );
    expect(similarities.indexOf(Math.max(...similarities))).toBe(character.charCodeAt(0));
  }
  const squares = embeddingOf(65).reduce((sum, value) => sum + value * value, 0);
  expect(Math.sqrt(squares / WIDTH)).toBeCloseTo(0.04, 5);
  expect(embeddingOf(32).every((value) => value === 0)).toBe(true);
  expect(() => embedCharacters({ ...embeddings, shape: [256, 16] }, { head, weights }, () => 0)).toThrow(
    /expected \d+ × 16/,
  );
});

test('a coordinate is most similar to the column that holds it, and to its neighbors', () => {
  const column = readingHeads().find(({ name }) => name === 'column')!;
  const data = Float32Array.from({ length: column.classes * 256 }, normal);
  const embeddings = { shape: [512, 256], data: new Float32Array(512 * 256) };
  embedCoordinates(
    embeddings,
    { head: column, weights: { shape: [column.classes, 256], data } },
    (pixel) => pixel,
  );
  const row = (values: Float32Array, index: number) => values.subarray(index * 256, (index + 1) * 256);
  const similarity = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * b[i], 0);
  for (const pixel of [0, 8, 100, 150, 511]) {
    const similarities = Array.from({ length: column.classes - 1 }, (_, index) =>
      similarity(row(embeddings.data, pixel), row(data, index + 1)),
    );
    expect(similarities.indexOf(Math.max(...similarities))).toBe(Math.floor(pixel / 16));
  }
  const near = similarity(row(embeddings.data, 100), row(embeddings.data, 103));
  expect(near).toBeGreaterThan(2 * similarity(row(embeddings.data, 100), row(embeddings.data, 140)));
});
