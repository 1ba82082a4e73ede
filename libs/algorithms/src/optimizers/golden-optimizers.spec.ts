import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Graph, ops, Session, tensor } from '@ui-rl/graph';
import { ComponentRegistry, type ComponentChoice, type Optimizer } from '@ui-rl/plugin-kit';
import { components } from '../components';

type Weights = Record<string, number[]>;

interface Golden {
  learningRate: number;
  shapes: Record<string, number[]>;
  weights: Weights;
  gradients: Weights[];
  cases: { choice: ComponentChoice; weights: Weights }[];
}

/** Golden values from PyTorch: test/golden/make_algorithms.py. */
const golden = JSON.parse(
  readFileSync(join(__dirname, '../../../../test/golden/algorithms/optimizers.json'), 'utf8'),
) as Golden;

const registry = new ComponentRegistry(
  components.map((component) => ({ component, file: '@ui-rl/algorithms' })),
);

function namesOf({ state }: Optimizer, name: string): readonly string[] {
  return typeof state === 'function' ? state({ name, shape: golden.shapes[name] }) : state;
}

function blankState(optimizer: Optimizer, name: string): Record<string, Float32Array> {
  const { length } = golden.weights[name];
  return Object.fromEntries(namesOf(optimizer, name).map((each) => [each, new Float32Array(length)]));
}

/** A weight after all steps, on the host. */
function onHost(optimizer: Optimizer, name: string): Float32Array {
  const weight = Float32Array.from(golden.weights[name]);
  const state = blankState(optimizer, name);
  const { learningRate } = golden;
  golden.gradients.forEach(({ [name]: gradient }, index) =>
    optimizer.update(
      { name, shape: golden.shapes[name], weight, gradient: Float32Array.from(gradient), state },
      { step: index + 1, learningRate, gradientScale: 1 },
    ),
  );
  return weight;
}

/** The same with the graph that a device runs. */
async function asGraph(optimizer: Optimizer, name: string): Promise<Float32Array> {
  const shape = golden.shapes[name];
  const graph = new Graph('step');
  const names = namesOf(optimizer, name);
  const [weight, gradient, ...state] = ['weight', 'gradient', ...names].map((each) =>
    graph.input(each, 'float32', shape),
  );
  const [step, learningRate] = ['step', 'rate'].map((each) => graph.input(each, 'float32', []));
  const next = optimizer.build!(
    { name, weight, gradient, state: Object.fromEntries(names.map((each, index) => [each, state[index]])) },
    { step, learningRate },
    { ops, scalar: (value) => ops.scalar(graph, value, 'float32') },
  );
  graph.output('next weight', next.weight);
  for (const each of names) graph.output(`next ${each}`, next.state[each]);
  const session = await Session.create(graph, { device: 'cpu', threads: 1 });
  let values: Record<string, Float32Array> = {
    weight: Float32Array.from(golden.weights[name]),
    ...blankState(optimizer, name),
  };
  for (const [index, gradients] of golden.gradients.entries()) {
    const all = { ...values, gradient: Float32Array.from(gradients[name]) };
    const fed = Object.entries(all).map(([each, data]) => [each, tensor('float32', data, shape)] as const);
    const scalars = {
      step: tensor('float32', [index + 1], []),
      rate: tensor('float32', [golden.learningRate], []),
    };
    const feeds = Object.entries({ ...Object.fromEntries(fed), ...scalars });
    const result = await session.run(
      Object.fromEntries(feeds.filter(([each]) => session.inputNames.includes(each))),
    );
    values = Object.fromEntries(
      Object.keys(values).map((each) => [each, result[`next ${each}`].data as Float32Array]),
    );
  }
  await session.release();
  return values.weight;
}

function expectNear(found: Float32Array, expected: readonly number[]): void {
  const gap = Math.max(...expected.map((value, index) => Math.abs(value - found[index])));
  expect(gap).toBeLessThan(1e-5);
}

describe('optimizers', () => {
  it.each(golden.cases)('$choice: the steps that PyTorch takes', async ({ choice, weights }) => {
    const optimizer = registry.create('optimizer', choice, {});
    for (const [name, expected] of Object.entries(weights)) {
      expectNear(onHost(optimizer, name), expected);
      if (optimizer.build !== undefined) expectNear(await asGraph(optimizer, name), expected);
    }
  });

  it('are all compared', () => {
    const names = components.filter(({ kind }) => kind === 'optimizer').map(({ name }) => name);
    expect(new Set(golden.cases.map(({ choice }) => choice.name))).toEqual(new Set(names));
  });
});
