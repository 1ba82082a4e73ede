import { Graph, ops, Session, tensor, type Tensor, type Value } from '@ui-rl/graph';
import { pastWindowBias, visibleBias, windowBias } from './attention-masks';

/** Groups of query heads per key head: their masks are stacked. */
const GROUPS = 2;

/** Evaluates a mask. */
async function evaluate(build: (graph: Graph) => Value, feeds: Record<string, Tensor>): Promise<Tensor> {
  const graph = new Graph('mask');
  graph.output('bias', build(graph));
  const session = await Session.create(graph, { threads: 1, spinning: false });
  const { bias } = await session.run(feeds);
  await session.release();
  return bias;
}

/** Rows of x (visible) and . (hidden) per batch row and group. */
function drawn({ data, dims }: Tensor): string[][] {
  const [B, one, rows, keys] = dims;
  expect(one).toBe(1);
  const cells = Array.from(data as Float32Array, (value) => {
    expect(value === 0 || value <= -1e9).toBe(true);
    return value === 0 ? 'x' : '.';
  });
  const line = (index: number): string => cells.slice(index * keys, (index + 1) * keys).join('');
  return Array.from({ length: B }, (_, b) => Array.from({ length: rows }, (_, row) => line(b * rows + row)));
}

const int64 = (rows: readonly number[][]): Tensor =>
  tensor('int64', BigInt64Array.from(rows.flat(), BigInt), [rows.length, rows[0].length]);

test('tokens attend to earlier ones, and those of an image to all of it', async () => {
  // The second row has an image at tokens 1 to 3.
  const last = int64([
    [0, 1, 2, 3, 4],
    [0, 3, 3, 3, 4],
  ]);
  const build = (graph: Graph): Value => visibleBias(graph.input('last', 'int64', ['B', 'T']), GROUPS, 'T');
  const causal = ['x....', 'xx...', 'xxx..', 'xxxx.', 'xxxxx'];
  const image = ['x....', 'xxxx.', 'xxxx.', 'xxxx.', 'xxxxx'];
  expect(drawn(await evaluate(build, { last }))).toEqual([
    [...causal, ...causal],
    [...image, ...image],
  ]);
});

test('a window hides tokens that are too far back, within an image, too', async () => {
  const last = int64([[0, 1, 5, 5, 5, 5, 6]]);
  const build = (graph: Graph): Value => {
    const visible = visibleBias(graph.input('last', 'int64', ['B', 'T']), 1, 'T');
    return ops.add(visible, windowBias(graph, 1, 3, 'T'));
  };
  expect(drawn(await evaluate(build, { last }))).toEqual([
    ['x......', 'xx.....', 'xxxxxx.', '.xxxxx.', '..xxxx.', '...xxx.', '....xxx'],
  ]);
});

test('a window reaches as far back into the cache as its size leaves, by row', async () => {
  // The next tokens are the sixth and seventh of one row, and the third and fourth of another.
  const places = int64([
    [5, 6],
    [2, 3],
  ]);
  const build = (graph: Graph): Value => {
    const past = graph.input('past', 'float32', ['C']);
    const bias = pastWindowBias(graph.input('places', 'int64', ['B', 'T']), GROUPS, 4);
    return ops.add(bias, ops.mul(past, 0));
  };
  const feeds = { places, past: tensor('float32', new Float32Array(6), [6]) };
  expect(drawn(await evaluate(build, feeds))).toEqual([
    ['..xxxx', '...xxx', '..xxxx', '...xxx'],
    ['xxxxxx', 'xxxxxx', 'xxxxxx', 'xxxxxx'],
  ]);
});
