import { Graph } from '../graph';
import * as ops from '../ops';
import { activationBytes } from '../segments';
import { Session } from '../session';
import { tensor, type Tensor } from '../tensor';

async function run(graph: Graph, feeds: Record<string, Tensor>): Promise<Record<string, number[]>> {
  const session = await Session.create(graph, { threads: 1 });
  const found = await session.run(feeds);
  await session.release();
  return Object.fromEntries(
    Object.entries(found).map(([name, { data }]) => [name, Array.from(data, Number)]),
  );
}

test('groups of rows are multiplied each by its own matrix, also where a group is empty', async () => {
  const graph = new Graph('grouped');
  const x = graph.input('x', 'float32', ['R', 2]);
  const counts = graph.input('counts', 'int64', [3]);
  const matrices = [1, 10, 100].map((factor) =>
    graph.constant('float32', [2, 2], Float32Array.of(factor, 0, factor, factor)),
  );
  graph.output('y', ops.groupedMatmul(x, ops.rowGroups(counts), matrices));
  const rows = tensor('float32', [1, 2, 3, 4, 5, 6], [3, 2]);
  expect((await run(graph, { x: rows, counts: tensor('int64', [2, 0, 1]) })).y).toEqual([
    3, 2, 7, 4, 1100, 600,
  ]);
  expect((await run(graph, { x: rows, counts: tensor('int64', [0, 3, 0]) })).y).toEqual([
    30, 20, 70, 40, 110, 60,
  ]);
});

test('a function of groups runs for those that have rows', async () => {
  const graph = new Graph('lazy');
  const x = graph.input('x', 'float32', ['R', 2]);
  const counts = graph.input('counts', 'int64', [3]);
  const factors = graph.input('factors', 'float32', [3]);
  const groups = ops.rowGroups(counts);
  const y = ops.groupedLazily(x, groups, 1, (rows, group) => {
    const [factor] = rows.graph.node('Gather', [factors, ops.ints(graph, [group])], { axis: 0 }, [
      { dtype: 'float32', shape: [1] },
    ]);
    return ops.mul(ops.reduceSum(rows, [1], true), factor);
  });
  graph.output('y', y);
  const rows = tensor('float32', [1, 2, 3, 4, 5, 6], [3, 2]);
  const feeds = { x: rows, factors: tensor('float32', [1, 10, 100]) };
  expect((await run(graph, { ...feeds, counts: tensor('int64', [2, 0, 1]) })).y).toEqual([3, 7, 1100]);
  expect((await run(graph, { ...feeds, counts: tensor('int64', [0, 3, 0]) })).y).toEqual([30, 70, 110]);
});

test('order, its inverse and counts', async () => {
  const graph = new Graph('order');
  const x = graph.input('x', 'int64', ['N']);
  const order = ops.argSort(x);
  graph.output('order', order);
  graph.output('inverse', ops.inversePermutation(order));
  graph.output('counts', ops.countEach(x, 5));
  const found = await run(graph, { x: tensor('int64', [3, 0, 3, 1, 0, 3]) });
  expect(found).toEqual({
    order: [1, 4, 3, 0, 2, 5],
    inverse: [3, 0, 4, 2, 1, 5],
    counts: [2, 1, 0, 3, 0],
  });
});

test('a group of unknown size counts with an equal share', () => {
  const graph = new Graph('bytes');
  const x = graph.input('x', 'float32', ['R', 4]);
  const counts = graph.input('counts', 'int64', [3]);
  const matrices = [0, 1, 2].map((i) => graph.input(`w${i}`, 'float32', [4, 5]));
  ops.groupedMatmul(x, ops.rowGroups(counts), matrices);
  // 12 rows split into groups, multiplied and concatenated.
  expect(activationBytes(graph, new Map([['R', 12]]))).toBe(4 * (12 * 4 + 12 * 5 + 12 * 5));
});

test('refuses what does not fit', () => {
  const graph = new Graph('grouped');
  const x = graph.input('x', 'float32', ['R', 2]);
  const groups = ops.rowGroups(graph.input('counts', 'int64', [3]));
  expect(() => ops.groupedMatmul(x, groups, [])).toThrow('0 matrices for 3 groups of "x"');
  expect(() => ops.rowGroups(graph.input('n', 'int64', ['N']))).toThrow(
    'counts must be a vector of known length, found [N]',
  );
  expect(() => ops.gatherEvenly(x, graph.input('rows', 'int64', ['M']))).toThrow(
    'indices [M] are not a multiple of the rows of [R, 2]',
  );
});
