import { join } from 'node:path';
import { deviceMemory, tensor, type SessionOptions } from '@ui-rl/graph';
import { loadModelFolder, Parameters, planLora, type LoraPlan, type ModelFolder } from '@ui-rl/models';
import { AccumulatedGradients } from '../training/accumulated-gradients';
import { Algorithms } from '../training/algorithms';
import type { TrainingDatum } from '../training/data';
import { lossFeeds } from '../training/loss-feeds';
import { initialWeights } from '../weights/initial-weights';
import { WeightSet } from '../weights/weight-set';
import { LayerByLayer } from './layer-by-layer';
import { LossSession } from './loss-session';
import type { Loss } from './objective';
import type { PassResult, PassRunner } from './runner';
import { WholeGraph } from './whole-graph';

const root = join(__dirname, '../../../..');
const session: SessionOptions = { threads: 2, spinning: false };
const memory = deviceMemory('cpu');
let algorithms: Algorithms;
beforeAll(async () => {
  algorithms = await Algorithms.load([join(__dirname, '../../test/components/sequence-losses.cjs')]);
});

/** Two pairs; the second sequence of the first pair has two turns. Trained tokens: 2, 1 + 2, 3, 1. */
function data(): TrainingDatum[] {
  const datum = (
    trained: number[],
    sequence: string,
    pair: string,
    side: 'chosen' | 'rejected',
  ): TrainingDatum => {
    const length = 4 + trained.length;
    const tokenIds = Array.from(
      { length },
      (_, i) => 10 + ((7 * i + 13 * trained[0] + sequence.length) % 150),
    );
    const spread = (values: number[]): number[] => [0, 0, 0, 0, ...values];
    return {
      tokenIds,
      images: [],
      targets: tokenIds.map((id) => id + 1),
      weights: spread(trained.map(() => 0.25)),
      lossInputs: {
        advantages: spread(trained.map((value) => value - 2)),
        old_logprobs: spread(trained.map((value) => -5 - value / 10)),
        reference_logprobs: spread(trained.map((value) => -5 + value / 20)),
      },
      temperature: 1,
      sequence,
      pair: { id: pair, side },
    };
  };
  return [
    datum([1, 2], 'a', 'one', 'chosen'),
    datum([3], 'b', 'one', 'rejected'),
    datum([4, 5], 'b', 'one', 'rejected'),
    datum([2, 1, 6], 'c', 'two', 'rejected'),
    datum([7], 'd', 'two', 'chosen'),
  ];
}

/** Trained tokens in the order of a pass over all data. */
function originsOf(all: readonly TrainingDatum[]): { datum: TrainingDatum; position: number }[] {
  return all.flatMap((datum) =>
    Array.from(datum.weights, (weight, position) => ({ datum, position, weight }))
      .filter(({ weight }) => weight !== 0)
      .map(({ position }) => ({ datum, position })),
  );
}

const LOGPROBS = Float32Array.from([-5.2, -4.7, -5.5, -4.9, -5.1, -5.3, -4.4, -6, -5.6]);
const ENTROPY = Float32Array.from([1, 0.5, 2, 1.5, 0.7, 0.2, 1.1, 0.9, 0.3]);
const SEQUENCES = [[0, 1], [2, 3, 4], [5, 6, 7], [8]];

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
const mean = (values: readonly number[]): number => sum(values) / values.length;

/** The loss computed by hand: per-token values `by name`, sequences as above. */
function byHand(name: string, logprobs: ArrayLike<number>, entropy: ArrayLike<number>): number {
  const tokens = originsOf(data());
  const of = (input: 'advantages' | 'old_logprobs' | 'reference_logprobs', token: number): number =>
    tokens[token].datum.lossInputs[input]![tokens[token].position];
  if (name === 'sequence_ratio') {
    const losses = SEQUENCES.map((sequence) => {
      const ratio = Math.exp(mean(sequence.map((token) => logprobs[token] - of('old_logprobs', token))));
      const advantage = mean(sequence.map((token) => of('advantages', token)));
      return -ratio * advantage - 0.3 * mean(sequence.map((token) => entropy[token]));
    });
    return sum(losses.map((loss, index) => loss * 0.25 * SEQUENCES[index].length));
  }
  const ratios = SEQUENCES.map((sequence) =>
    sum(sequence.map((token) => logprobs[token] - of('reference_logprobs', token))),
  );
  const loss = (chosen: number, rejected: number): number =>
    -Math.log(1 / (1 + Math.exp(-0.5 * (ratios[chosen] - ratios[rejected]))));
  return loss(0, 1) * 0.25 * 5 + loss(3, 2) * 0.25 * 4;
}

const CHOICES = [
  { name: 'sequence_ratio', entropy: 0.3 },
  { name: 'preference', beta: 0.5 },
];

describe.each(CHOICES)('the loss $name over whole sequences', (choice) => {
  let loss: Loss;
  beforeAll(() => {
    loss = algorithms.loss(choice);
  });

  it('is what is computed by hand, and so are its derivatives', async () => {
    const computed = await LossSession.create(loss, session);
    const { feeds, units } = lossFeeds(loss, originsOf(data()));
    expect(units).toBe(loss.scope === 'pair' ? 2 : 4);
    const found = await computed.run({ logprobs: LOGPROBS, entropy: ENTROPY }, feeds);
    await computed.release();
    expect(found.loss).toBeCloseTo(byHand(choice.name, LOGPROBS, ENTROPY), 5);
    const derivative = (values: Float32Array, evaluate: (moved: number[]) => number): number[] =>
      Array.from(values, (_, token) => {
        const moved = (by: number): number =>
          evaluate(Array.from(values, (value, other) => value + (other === token ? by : 0)));
        return (moved(1e-4) - moved(-1e-4)) / 2e-4;
      });
    const byLogprob = derivative(LOGPROBS, (moved) => byHand(choice.name, moved, ENTROPY));
    byLogprob.forEach((value, token) => expect(found.byLogprob[token]).toBeCloseTo(value, 4));
    if (found.byEntropy === undefined) return;
    const byEntropy = derivative(ENTROPY, (moved) => byHand(choice.name, LOGPROBS, moved));
    byEntropy.forEach((value, token) => expect(found.byEntropy![token]).toBeCloseTo(value, 4));
  });

  describe('through a model', () => {
    let folder: ModelFolder;
    let plan: LoraPlan;
    let weights: WeightSet;
    beforeAll(async () => {
      folder = await loadModelFolder(join(root, 'test/golden/fixtures/qwen3-vl-a/model'));
      plan = planLora(folder.family, { rank: 2, alpha: 4, targets: 'attention', dropout: 0 });
      weights = await initialWeights(folder, plan, 3);
      let i = 0;
      for (const { data: numbers } of weights.tensors.values())
        numbers.forEach((_, at) => (numbers[at] += Math.sin(i++) / 20));
    });

    const runners = (): [string, PassRunner][] => {
      const options = {
        role: 'policy' as const,
        family: folder.family,
        parameters: () => new Parameters({ weights: folder.weights, lora: plan }),
        session,
        memory,
        pause: () => Promise.resolve(),
      };
      // Logits of two tokens at a time, so that chunks split every sequence.
      return [
        ['as one graph', new WholeGraph(options)],
        ['layer by layer', new LayerByLayer(options, 2 * folder.family.shape.vocabSize)],
      ];
    };

    async function train(
      runner: PassRunner,
      trained: WeightSet,
    ): Promise<{ result: PassResult; gradients: Map<string, Float32Array> }> {
      const rows = data().map((datum) => ({
        ...datum,
        tokenIds: Array.from(datum.tokenIds),
        images: [],
        selected: datum.weights,
      }));
      const batch = folder.family.trainerFeeds(rows, [], { images: 'none' });
      const { feeds } = lossFeeds(loss, originsOf(data()));
      const accumulated = await AccumulatedGradients.create(trained, memory);
      const all = {
        ...batch.feeds,
        ...feeds,
        ...(await trained.feeds(memory)),
        dropout_seed: tensor('int64', [0], []),
      };
      const result = await runner.train('none', loss, all, accumulated);
      const gradients = Array.from(accumulated.names, (name): [string, Float32Array] => [
        name,
        accumulated.get(name).data as Float32Array,
      ]);
      return { result, gradients: new Map(gradients) };
    }

    it('gives the same loss and gradients in one graph and layer by layer, those of finite differences', async () => {
      const found: { name: string; result: PassResult; gradients: Map<string, Float32Array> }[] = [];
      for (const [name, runner] of runners()) {
        found.push({ name, ...(await train(runner, weights)) });
        await runner.release();
      }
      const [whole, layers] = found;
      const { scores, entropy } = whole.result;
      expect(whole.result.loss).toBeCloseTo(byHand(choice.name, scores, entropy!), 4);
      expect(layers.result.loss).toBeCloseTo(whole.result.loss, 4);
      for (const [name, value] of Object.entries(whole.result.metrics)) {
        expect(layers.result.metrics[name]).toBeCloseTo(value, 4);
      }
      for (const [name, expected] of whole.gradients) {
        const size = Math.max(...expected.map(Math.abs));
        const gap = Math.max(...expected.map((value, i) => Math.abs(value - layers.gradients.get(name)![i])));
        expect([name, gap <= 1e-4 * size + 1e-6]).toEqual([name, true]);
      }
      await expectFiniteDifferences(whole.gradients);
    });

    /** Perturbs the largest adapter weights of some layers one by one. */
    async function expectFiniteDifferences(gradients: ReadonlyMap<string, Float32Array>): Promise<void> {
      const [[, runner], [, other]] = runners();
      await other.release();
      const names = [...gradients.keys()].filter((_, index) => index % 7 === 0);
      for (const name of names) {
        const gradient = gradients.get(name)!;
        const at = gradient.reduce(
          (best, value, i) => (Math.abs(value) > Math.abs(gradient[best]) ? i : best),
          0,
        );
        const step = 1e-2;
        const moved = async (by: number): Promise<number> => {
          const tensors = new Map(
            Array.from(weights.tensors, ([each, { shape, data: numbers }]) => [
              each,
              { shape, data: numbers.slice() },
            ]),
          );
          tensors.get(name)!.data[at] += by;
          return (await train(runner, new WeightSet(0, tensors))).result.loss;
        };
        const difference = ((await moved(step)) - (await moved(-step))) / (2 * step);
        expect(Math.abs(difference - gradient[at])).toBeLessThan(0.02 * Math.abs(gradient[at]) + 2e-3);
      }
      await runner.release();
    }
  });
});

it('refuses a loss that gives something else than its scope says, or cannot be built, by name', async () => {
  const broken = (name: string, build: Loss['build']): Promise<LossSession> =>
    LossSession.create({ name, key: name, scope: 'token', trains: 'policy', inputs: [], build }, session);
  await expect(broken('flat', (terms) => ({ loss: terms.scalar(1) }))).rejects.toThrow(
    'loss flat: its value has shape [], expected [M]: one number per token',
  );
  await expect(broken('pairless', ({ pairs }) => ({ loss: pairs.chosen(pairs as never) }))).rejects.toThrow(
    'loss pairless cannot be built: a loss that uses pairs must declare the scope "pair"',
  );
});

it('refuses pairs with two sequences on one side, or none', () => {
  const all = originsOf(data());
  const loss = algorithms.loss({ name: 'preference' });
  const changed = (change: (datum: TrainingDatum) => TrainingDatum): unknown =>
    lossFeeds(
      loss,
      all.map(({ datum, position }) => ({ datum: change(datum), position })),
    );
  expect(() => changed(({ sequence: _, ...datum }) => ({ ...datum }))).toThrow(
    'pair one has two chosen sequences',
  );
  expect(() =>
    lossFeeds(
      loss,
      all.filter(({ datum }) => datum.sequence !== 'd'),
    ),
  ).toThrow('pair two has no chosen sequence');
});
