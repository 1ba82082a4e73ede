import type { FloatTensor } from '@ui-rl/models';
import { normals } from '@ui-rl/random';
import { setMatchingAttention } from './matching-attention';

const SHAPE = { width: 96, headDim: 32, keyHeads: 2, heads: 4 };
const CHARACTERS = 40;

/** Product of a row of a projection with a vector. */
function project(weights: Float32Array, head: number, x: Float32Array): number[] {
  const { headDim, width } = SHAPE;
  return Array.from({ length: headDim }, (_, row) => {
    const at = (head * headDim + row) * width;
    return x.reduce((sum, value, i) => sum + value * weights[at + i], 0);
  });
}

function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) =>
    x.reduce((sum, value, i) => sum + value * y[i], 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

test.each([0, 1])('in layer %d, query heads score their own character highest', (layer) => {
  const tensors = new Map<string, FloatTensor>();
  for (let each = 0; each < 2; each++) {
    for (const [of, heads] of [
      ['q', SHAPE.heads],
      ['k', SHAPE.keyHeads],
    ] as const) {
      const shape = [heads * SHAPE.headDim, SHAPE.width];
      const data = normals(shape[0] * shape[1], 0.02, 7 + each);
      tensors.set(`model.language_model.layers.${each}.self_attn.${of}_proj.weight`, { shape, data });
    }
  }
  const characters = normals(CHARACTERS * SHAPE.width, 1, 5);
  setMatchingAttention(tensors, characters, SHAPE);
  const weights = (of: string) =>
    tensors.get(`model.language_model.layers.${layer}.self_attn.${of}_proj.weight`)!.data;
  const rows = Array.from({ length: CHARACTERS }, (_, index) =>
    characters.subarray(index * SHAPE.width, (index + 1) * SHAPE.width),
  );
  for (let head = 0; head < SHAPE.keyHeads; head++) {
    const keys = rows.map((row) => project(weights('k'), head, row));
    rows.forEach((row, index) => {
      const query = project(weights('q'), (head * SHAPE.heads) / SHAPE.keyHeads, row);
      const scores = keys.map((key) => cosine(query, key));
      expect(scores.indexOf(Math.max(...scores))).toBe(index);
      expect(scores[index]).toBeGreaterThan(0.99);
    });
    // Only slow rotary frequencies carry the match: dimensions 9 to 15 and 25 to 31.
    const used = keys[0].flatMap((value, dimension) => (value === 0 ? [] : [dimension]));
    expect(used).toEqual([9, 10, 11, 12, 13, 14, 15, 25, 26, 27, 28, 29, 30, 31]);
  }
});
