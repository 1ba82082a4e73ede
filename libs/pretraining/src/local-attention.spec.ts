import { setLocalAttention } from './local-attention';

const [WIDTH, HEADS] = [160, 5];
const HEAD_DIM = WIDTH / HEADS;
const FREQUENCIES = HEAD_DIM / 4;

/** A head's part of a bias, turned to a place as rotary positions do: rows turn the first half of the pairs. */
function turned(part: Float32Array, place: readonly [number, number]): number[] {
  const out = Array.from<number>({ length: HEAD_DIM });
  place.forEach((position, axis) => {
    for (let i = 0; i < FREQUENCIES; i++) {
      const at = axis * FREQUENCIES + i;
      const angle = position * 10_000 ** (-i / FREQUENCIES);
      const [a, b] = [part[at], part[at + HEAD_DIM / 2]];
      out[at] = a * Math.cos(angle) - b * Math.sin(angle);
      out[at + HEAD_DIM / 2] = b * Math.cos(angle) + a * Math.sin(angle);
    }
  });
  return out;
}

test.each([
  [0, 0, [0, -1]],
  [0, 1, [0, 1]],
  [1, 2, [-1, 0]],
  [2, 3, [1, 0]],
  [3, 0, [0, -2]],
])('head %i.%i of a new tower attends to the patch at %j', (layer, head, [rows, columns]) => {
  const tensors = new Map(
    [0, 1, 2, 3].map((each) => [
      `model.visual.blocks.${each}.attn.qkv.bias`,
      { shape: [3 * WIDTH], data: new Float32Array(3 * WIDTH) },
    ]),
  );
  setLocalAttention(tensors, { width: WIDTH, heads: HEADS });
  const { data } = tensors.get(`model.visual.blocks.${layer}.attn.qkv.bias`)!;
  const part = (from: number) => data.subarray(from + head * HEAD_DIM, from + (head + 1) * HEAD_DIM);
  const query = turned(part(0), [12, 9]);
  const scores: { score: number; place: [number, number] }[] = [];
  for (let row = 0; row < 26; row++) {
    for (let column = 0; column < 20; column++) {
      const key = turned(part(WIDTH), [row, column]);
      const score = query.reduce((sum, value, i) => sum + value * key[i], 0) / Math.sqrt(HEAD_DIM);
      scores.push({ score, place: [row, column] });
    }
  }
  const weights = scores.map(({ score }) => Math.exp(score));
  const most = scores[weights.indexOf(Math.max(...weights))];
  expect(most.place).toEqual([12 + rows, 9 + columns]);
  const share = Math.max(...weights) / weights.reduce((sum, each) => sum + each);
  expect(share).toBeGreaterThan(0.3);
});
