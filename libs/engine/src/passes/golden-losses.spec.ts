import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { components } from '@ui-rl/algorithms';
import { Graph, gradients, Session, tensor } from '@ui-rl/graph';
import type { ComponentChoice, LossInput } from '@ui-rl/plugin-kit';
import { Algorithms } from '../training/algorithms';
import type { TrainingDatum } from '../training/data';
import { lossFeeds } from '../training/loss-feeds';
import { LossSession } from './loss-session';
import { OBJECTIVE_INPUTS, TRAINED_TOKENS, weighted } from './objective';
import { pick } from './runner';

interface Golden {
  data: (Required<Pick<TrainingDatum, 'sequence' | 'pair'>> & { tokens: number })[];
  tokens: Record<LossInput | 'logprobs' | 'entropy' | 'weights', number[]>;
  critic: {
    tokens: Record<LossInput | 'predictions' | 'weights', number[]>;
    cases: { choice: ComponentChoice; loss: number; byPrediction: number[] }[];
  };
  cases: {
    choice: ComponentChoice;
    regularizers: ComponentChoice[];
    loss: number;
    byLogprob: number[];
    byEntropy?: number[];
  }[];
}

/** Golden values from PyTorch: test/golden/make_algorithms.py. */
const golden = JSON.parse(
  readFileSync(join(__dirname, '../../../../test/golden/algorithms/losses.json'), 'utf8'),
) as Golden;

/** The tokens as data, all of them trained. */
function data(): TrainingDatum[] {
  let from = 0;
  return golden.data.map(({ tokens, sequence, pair }) => {
    const part = ([name, values]: [string, number[]]): [string, number[]] => [
      name,
      values.slice(from, from + tokens),
    ];
    const { weights, ...lossInputs } = Object.fromEntries(Object.entries(golden.tokens).map(part));
    from += tokens;
    const tokenIds = weights.map((_, position) => position);
    return { tokenIds, images: [], targets: tokenIds, weights, lossInputs, temperature: 1, sequence, pair };
  });
}

function largestGap(found: ArrayLike<number>, expected: readonly number[]): number {
  return Math.max(0, ...expected.map((value, index) => Math.abs(value - found[index])));
}

let algorithms: Algorithms;
beforeAll(async () => (algorithms = await Algorithms.load([])));

describe('losses', () => {
  it.each(golden.cases)('$choice $regularizers: what PyTorch computes', async (expected) => {
    const loss = algorithms.loss(expected.choice, expected.regularizers);
    const session = await LossSession.create(loss, { device: 'cpu', threads: 1 });
    const origins = data().flatMap((datum) =>
      Array.from(datum.tokenIds, (_, position) => ({ datum, position })),
    );
    const { logprobs, entropy } = golden.tokens;
    const found = await session.run(
      { logprobs: Float32Array.from(logprobs), entropy: Float32Array.from(entropy) },
      lossFeeds(loss, origins).feeds,
    );
    await session.release();
    expect(Math.abs(found.loss - expected.loss)).toBeLessThan(1e-5);
    expect(largestGap(found.byLogprob, expected.byLogprob)).toBeLessThan(1e-5);
    expect(found.byEntropy === undefined).toBe(expected.byEntropy === undefined);
    expect(largestGap(found.byEntropy ?? [], expected.byEntropy ?? [])).toBeLessThan(1e-5);
  });

  it.each(golden.critic.cases)('$choice of a critic: what PyTorch computes', async (expected) => {
    const loss = algorithms.loss(expected.choice);
    const { tokens } = golden.critic;
    const graph = new Graph('value loss');
    const predictions = graph.input('predictions', 'float32', [TRAINED_TOKENS]);
    const { total } = weighted(loss).build(graph, { role: 'critic', predictions });
    graph.output('total', total);
    graph.output('slopes', gradients(total, [predictions])[0]);
    const session = await Session.create(graph, { device: 'cpu', threads: 1 });
    const feeds = { ...tokens, [OBJECTIVE_INPUTS.weights]: tokens.weights };
    const all = Object.entries(feeds).map(
      ([name, numbers]) => [name, tensor('float32', Float32Array.from(numbers))] as const,
    );
    const found = await session.run(pick(Object.fromEntries(all), session.inputNames));
    await session.release();
    expect(Math.abs(Number(found.total.data[0]) - expected.loss)).toBeLessThan(1e-5);
    expect(largestGap(found.slopes.data as Float32Array, expected.byPrediction)).toBeLessThan(1e-5);
  });

  it('are all compared', () => {
    const named = (kind: string): string[] =>
      components.filter((component) => component.kind === kind).map(({ name }) => name);
    const losses = [...golden.cases, ...golden.critic.cases].map(({ choice }) => choice.name);
    expect(new Set(losses)).toEqual(new Set(named('policy-loss')));
    const added = golden.cases.flatMap(({ regularizers }) => regularizers.map(({ name }) => name));
    expect(new Set(added)).toEqual(new Set(named('regularizer')));
  });
});
