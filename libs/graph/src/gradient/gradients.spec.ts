import {
  Graph,
  gradients,
  ops,
  Session,
  tensor,
  vectorJacobianProducts,
  type Tensor,
  type Value,
} from '../index';
import { buildCase, weightsOf } from '../../test/build-case';
import { ruleCases, type RuleCase } from '../../test/rule-cases';
import { flat, rules } from './table';

const step = 1e-2;
const tolerance = 3e-3;

type Feeds = Record<string, Tensor>;

/** Σ y·weights in double precision. */
async function lossOf(session: Session, feeds: Feeds, weights: Tensor): Promise<number> {
  const { y } = await session.run({ ...feeds, weights }, { y: null });
  const factors = weights.data as Float32Array;
  return (y.data as Float32Array).reduce((sum, value, i) => sum + value * factors[i], 0);
}

async function finiteDifference(
  session: Session,
  feeds: Feeds,
  weights: Tensor,
  name: string,
  at: number,
): Promise<number> {
  const data = feeds[name].data as Float32Array;
  const original = data[at];
  const losses: number[] = [];
  for (const sign of [1, -1]) {
    data[at] = original + sign * step;
    losses.push(await lossOf(session, feeds, weights));
  }
  data[at] = original;
  return (losses[0] - losses[1]) / (2 * step);
}

/** The result's shape with all dimensions known. */
function resultShape(ruleCase: RuleCase): number[] {
  return buildCase(new Graph(ruleCase.name), ruleCase).y.shape.map(Number);
}

describe('derivatives equal finite differences', () => {
  describe.each([false, true])('with symbolic shapes: %s', (symbolic) => {
    it.each(ruleCases.map((ruleCase) => [ruleCase.name, ruleCase] as const))('%s', async (_, ruleCase) => {
      const weights = weightsOf(resultShape(ruleCase));
      const graph = new Graph(ruleCase.name);
      const { feeds } = buildCase(graph, ruleCase, { symbolic });
      const session = await Session.create(graph, { threads: 1 });
      const found = await session.run({ ...feeds, weights });
      for (const [i, dims] of ruleCase.inputs.entries()) {
        const grad = found[`grad${i}`];
        expect(grad.dims).toEqual(dims);
        for (let at = 0; at < grad.size; at++) {
          const expected = await finiteDifference(session, feeds, weights, `x${i}`, at);
          const error = Math.abs(Number(grad.data[at]) - expected);
          if (!(error <= tolerance * (1 + Math.abs(expected)))) {
            throw new Error(
              `input ${i}, element ${at}: ${grad.data[at]}, but finite differences give ${expected}`,
            );
          }
        }
      }
      await session.release();
    });
  });

  it('for every rule of the table there is a case', () => {
    const covered = new Set(
      ruleCases.flatMap((ruleCase) => [...buildCase(new Graph('g'), ruleCase).forwardOps]),
    );
    expect([...Object.keys(rules), ...flat].filter((opType) => !covered.has(opType))).toEqual([]);
  });
});

/** Gradients of a small graph, as plain numbers. */
async function gradientsOf(graph: Graph, grads: readonly Value[], feeds: Feeds): Promise<number[][]> {
  grads.forEach((grad, i) => graph.output(`grad${i}`, grad));
  const session = await Session.create(graph, { threads: 1 });
  const found = await session.run(feeds);
  await session.release();
  return grads.map((_, i) => Array.from(found[`grad${i}`].data as Float32Array));
}

describe('gradients', () => {
  it('names the operation and the node that has no derivative', () => {
    const graph = new Graph('model');
    const x = graph.input('x', 'float32', [2]);
    const [y] = graph.scope('layers.0', () =>
      graph.node('Asinh', [x], {}, [{ dtype: 'float32', shape: [2] }]),
    );
    expect(() => gradients(ops.reduceSum(y), [x])).toThrow(
      'no derivative is known for operation Asinh (node "/layers.0/Asinh" of graph "model")',
    );
  });

  it('does not mind operations without derivative that lie off the path', async () => {
    const graph = new Graph('g');
    const x = graph.input('x', 'float32', [2]);
    const w = graph.input('w', 'float32', [2]);
    const [y] = graph.node('Asinh', [x], {}, [{ dtype: 'float32', shape: [2] }]);
    const grads = gradients(ops.reduceSum(ops.mul(ops.mul(y, 0), w)), [w]);
    const feeds = { x: tensor('float32', [1, 2]), w: tensor('float32', [3, 4]) };
    expect(await gradientsOf(graph, grads, feeds)).toEqual([[0, 0]]);
  });

  it('adds nothing for inputs whose gradient is not requested', () => {
    const graph = new Graph('g');
    const x = graph.input('x', 'float32', ['B', 3]);
    const w = graph.input('w', 'float32', [4, 3]);
    const loss = ops.reduceSum(ops.linear(ops.mul(x, 2), w));
    const before = graph.nodes.length;
    gradients(loss, [w]);
    const added = graph.nodes.slice(before).map((node) => node.opType);
    expect(added.filter((opType) => opType === 'Gemm')).toHaveLength(1);
    expect(added).not.toContain('Mul');
  });

  it('refuses a value the loss does not depend on, and a loss of many elements', () => {
    const graph = new Graph('g');
    const x = graph.input('x', 'float32', [2]);
    const w = graph.input('w', 'float32', [2]);
    expect(() => gradients(ops.reduceSum(x), [w])).toThrow('does not depend on "w"');
    expect(() => gradients(x, [x])).toThrow('must have one element, found shape [2]');
  });

  it('refuses to look past a condition, which has no derivative', () => {
    const graph = new Graph('g');
    const x = graph.input('x', 'float32', [2]);
    const y = ops.cast(ops.greater(x, 0), 'float32');
    expect(() => gradients(ops.reduceSum(y), [x])).toThrow('does not depend on "x"');
  });

  it('shares the gradient of a maximum among equal elements', async () => {
    const graph = new Graph('g');
    const x = graph.input('x', 'float32', [3]);
    const grads = gradients(ops.reduceMax(x), [x]);
    expect(await gradientsOf(graph, grads, { x: tensor('float32', [2, 1, 2]) })).toEqual([[0.5, 0, 0.5]]);
  });

  it('of an intermediate value and of what it is made from', async () => {
    const graph = new Graph('g');
    const x = graph.input('x', 'float32', [1]);
    const middle = ops.mul(x, 3);
    const grads = gradients(ops.reduceSum(ops.square(middle)), [middle, x]);
    expect(await gradientsOf(graph, grads, { x: tensor('float32', [2]) })).toEqual([[12], [36]]);
  });

  it('of a part of a model continue from the gradients that come in', async () => {
    const graph = new Graph('layer');
    const x = graph.input('x', 'float32', ['B', 2]);
    const incoming = graph.input('incoming', 'float32', ['B', 2]);
    const grads = vectorJacobianProducts([ops.square(x), ops.mul(x, 3)], [incoming, incoming], [x]);
    const feeds = { x: tensor('float32', [1, 2], [1, 2]), incoming: tensor('float32', [1, 10], [1, 2]) };
    expect(await gradientsOf(graph, grads, feeds)).toEqual([[5, 70]]);
  });
});
