import type { FloatTensor } from '@ui-rl/models';
import { normals, Random } from '@ui-rl/random';
import { setCoordinateReadout, setCopyingAttention } from './copying-attention';

const SHAPE = { width: 256, headDim: 32, keyHeads: 4, heads: 8 };
const { width, headDim } = SHAPE;
const CHARACTERS = 90;
const LAYERS = 4;

const rows = (count: number, seed: number) => normals(count * width, 0.04, seed);
const rowOf = (matrix: Float32Array, row: number) => matrix.subarray(row * width, (row + 1) * width);
function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
const rms = (x: ArrayLike<number>) => Math.sqrt(dot(x, x) / x.length);
const indexOfLargest = (values: readonly number[]) => values.indexOf(Math.max(...values));

const characters = rows(CHARACTERS, 5);
const axes = [rows(32, 6), rows(32, 7)];
let tensors: Map<string, FloatTensor>;

beforeEach(() => {
  const residual = 0.02 / Math.sqrt(2 * LAYERS);
  const put = (name: string, shape: number[], data: Float32Array) => tensors.set(name, { shape, data });
  tensors = new Map();
  for (let layer = 0; layer < LAYERS; layer++) {
    const prefix = `model.language_model.layers.${layer}.self_attn`;
    const projections = [
      ['q', SHAPE.heads, 0.02],
      ['k', SHAPE.keyHeads, 0.02],
      ['v', SHAPE.keyHeads, 0.02],
      ['o', SHAPE.heads, residual],
    ] as const;
    for (const [of, heads, size] of projections) {
      const shape = of === 'o' ? [width, heads * headDim] : [heads * headDim, width];
      const data = normals(shape[0] * shape[1], size, layer * 10 + of.charCodeAt(0));
      put(`${prefix}.${of}_proj.weight`, shape, data);
    }
    for (const norm of ['q_norm', 'k_norm'])
      put(`${prefix}.${norm}.weight`, [headDim], new Float32Array(headDim).fill(1));
  }
  put('model.language_model.embed_tokens.weight', [CHARACTERS, width], Float32Array.from(characters));
  put('model.visual.merger.linear_fc2.bias', [width], new Float32Array(width));
});

/** Causal attention of a layer added to the residual stream, as in Qwen3-VL; texts only. */
function attend(layer: number, stream: readonly number[][]): number[][] {
  const weights = (of: string) =>
    tensors.get(`model.language_model.layers.${layer}.self_attn.${of}.weight`)!.data;
  const project = (of: string, x: readonly number[]) =>
    Array.from({ length: weights(of).length / x.length }, (_, row) =>
      dot(weights(of).subarray(row * x.length, (row + 1) * x.length), x),
    );
  const headsOf = (x: readonly number[]) =>
    Array.from({ length: x.length / headDim }, (_, head) => x.slice(head * headDim, (head + 1) * headDim));
  const turned = (of: string, x: readonly number[], position: number) => {
    const size = rms(x);
    const normed = x.map((value, i) => (value / size) * weights(`${of}_norm`)[i]);
    return normed.map((value, i) => {
      const half = headDim / 2;
      const angle = position * 10_000 ** (-(i % half) / half);
      const other = i < half ? -normed[i + half] : normed[i - half];
      return value * Math.cos(angle) + other * Math.sin(angle);
    });
  };
  const normed = stream.map((x) => x.map((value) => value / rms(x)));
  const byHead = (of: string) => normed.map((x) => headsOf(project(`${of}_proj`, x)));
  const keys = byHead('k').map((heads, at) => heads.map((head) => turned('k', head, at)));
  const values = byHead('v');
  return byHead('q').map((heads, at) => {
    const mixed = heads.flatMap((head, index) => {
      const keyHead = Math.floor((index * SHAPE.keyHeads) / SHAPE.heads);
      const query = turned('q', head, at);
      const scores = keys.slice(0, at + 1).map((each) => dot(query, each[keyHead]) / Math.sqrt(headDim));
      const most = Math.max(...scores);
      const shares = scores.map((score) => Math.exp(score - most));
      const total = shares.reduce((a, b) => a + b);
      return Array.from({ length: headDim }, (_, i) =>
        shares.reduce((sum, share, each) => sum + (share / total) * values[each][keyHead][i], 0),
      );
    });
    const added = project('o_proj', mixed);
    return stream[at].map((value, i) => value + added[i]);
  });
}

/** The character that most resembles each position of the residual stream. */
function named(stream: readonly number[][]): number[] {
  return stream.map((x) =>
    indexOfLargest(Array.from({ length: CHARACTERS }, (_, row) => dot(rowOf(characters, row), x))),
  );
}

test('a new decoder continues a text that it has seen before', () => {
  const coordinates = Float32Array.from([...axes[0], ...axes[1]]);
  setCopyingAttention(tensors, { characters, coordinates }, 0.2, SHAPE);
  const random = new Random(1);
  const embeddings = tensors.get('model.language_model.embed_tokens.weight')!.data;
  const other = Array.from({ length: 60 }, () => random.below(CHARACTERS));
  const text = Array.from({ length: 12 }, () => random.below(CHARACTERS));
  const goal = [...other.slice(0, 30), ...text, ...other.slice(30)];
  const sequence = [...goal, ...text.slice(0, -1)];
  let stream = sequence.map((row) => Array.from(rowOf(embeddings, row)));
  for (const layer of [0, 1]) stream = attend(layer, stream);
  const expected = text.slice(2);
  const right = named(stream)
    .slice(goal.length + 1)
    .filter((row, index) => row === expected[index]);
  expect(right.length).toBeGreaterThanOrEqual(expected.length - 1);
});

test('heads of the last layers pass on the coordinates that they attend to', () => {
  setCoordinateReadout(tensors, axes, LAYERS, SHAPE);
  for (const coordinates of axes) {
    const place = rowOf(coordinates, 11);
    const [added] = attend(LAYERS - 1, [Array.from(place)]).map((x) => x.map((value, i) => value - place[i]));
    const scores = Array.from({ length: 32 }, (_, row) => dot(rowOf(coordinates, row), added));
    expect(indexOfLargest(scores)).toBe(11);
  }
});
