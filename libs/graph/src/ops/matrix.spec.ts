import { Graph } from '../graph';
import { Session } from '../session';
import { tensor } from '../tensor';
import * as ops from './index';

test.each([1, 2, 7])('a linear layer of %i rows is the same with its weight first', async (rows) => {
  const graph = new Graph('few rows');
  const x = graph.input('x', 'float32', ['B', 'T', 5]);
  const weight = graph.input('weight', 'float32', [4, 5]);
  const first = ops.linearOfFewRows(x, weight);
  expect(first.shape).toEqual(['B', 'T', 4]);
  graph.output('first', first);
  graph.output('usual', ops.linear(x, weight));
  const session = await Session.create(graph, { threads: 1 });
  const wave = (count: number) => Float32Array.from({ length: count }, (_, i) => Math.sin(i * 1.7));
  const found = await session.run({
    x: tensor('float32', wave(rows * 5), [rows, 1, 5]),
    weight: tensor('float32', wave(20), [4, 5]),
  });
  await session.release();
  const usual = Array.from(found.usual.data as Float32Array);
  expect(usual).toHaveLength(rows * 4);
  expect(found.first.dims).toEqual([rows, 1, 4]);
  usual.forEach((value, i) => expect(Number(found.first.data[i])).toBeCloseTo(value, 6));
});
