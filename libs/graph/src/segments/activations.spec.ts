import { gradients } from '../gradient/gradients';
import { Graph } from '../graph';
import * as ops from '../ops';
import { activationBytes, peakBytes } from './activations';

const rows = new Map([['N', 100]]);

test('results are freed after their last use', () => {
  const graph = new Graph('chain');
  let x = graph.input('x', 'float32', ['N', 10]);
  for (let i = 0; i < 5; i += 1) x = ops.exp(x);
  graph.output('y', x);
  // Two of the five exist at once.
  expect(activationBytes(graph, rows)).toBe(5 * 4_000);
  expect(peakBytes(graph, rows)).toBe(2 * 4_000);
});

test('a backward pass keeps what its derivatives read', () => {
  const graph = new Graph('kept');
  const w = graph.input('w', 'float32', ['N', 10]);
  let x = w;
  for (let i = 0; i < 5; i += 1) x = ops.exp(x);
  const [gradient] = gradients(ops.reduceSum(x), [w]);
  graph.output('gradient', gradient);
  const peak = peakBytes(graph, rows);
  expect(peak).toBeGreaterThanOrEqual(5 * 4_000);
  expect(peak).toBeLessThan(8 * 4_000);
});

test('a reshaped value shares the memory of its source, and a result without a use counts while it is computed', () => {
  const graph = new Graph('shared');
  const x = graph.input('x', 'float32', ['N', 10]);
  const y = ops.exp(x);
  const flat = ops.reshape(y, ['10*N']);
  ops.neg(y);
  graph.output('z', ops.neg(flat));
  expect(peakBytes(graph, rows)).toBe(2 * 4_000);
});
