import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Algorithms } from '../training/algorithms';
import type { TrainingDatum } from '../training/data';
import { lossFeeds, type TokenOrigin } from '../training/loss-feeds';
import { LossSession } from './loss-session';

interface Side {
  reference: number[];
  logprobs: number[];
  weights: number[];
  gradient: number[];
}

interface GoldenCase {
  beta: number;
  loss: number;
  pairs: { chosen: Side; rejected: Side; margin: number }[];
}

/** Golden values from PyTorch: test/golden/make_dpo.py. */
const golden = JSON.parse(
  readFileSync(join(__dirname, '../../../../test/golden/dpo/expected.json'), 'utf8'),
) as Record<string, GoldenCase>;

const SIDES = ['chosen', 'rejected'] as const;

function dataOf({ pairs }: GoldenCase): TrainingDatum[] {
  return pairs.flatMap((pair, index) =>
    SIDES.map((side) => ({
      tokenIds: pair[side].weights.map(() => 1),
      images: [],
      targets: pair[side].weights.map(() => 1),
      weights: pair[side].weights,
      lossInputs: { reference_logprobs: pair[side].reference },
      temperature: 1,
      sequence: `${index} ${side}`,
      pair: { id: String(index), side },
    })),
  );
}

function originsOf(data: readonly TrainingDatum[]): TokenOrigin[] {
  return data.flatMap((datum) => Array.from(datum.weights, (_, position) => ({ datum, position })));
}

it.each(Object.entries(golden))('dpo has the value and the gradient of PyTorch: %s', async (_, expected) => {
  const loss = (await Algorithms.load([])).loss({ name: 'dpo', beta: expected.beta });
  const sides = expected.pairs.flatMap((pair) => SIDES.map((side) => pair[side]));
  const session = await LossSession.create(loss, { device: 'cpu', threads: 1 });
  const logprobs = Float32Array.from(sides.flatMap((side) => side.logprobs));
  const { feeds } = lossFeeds(loss, originsOf(dataOf(expected)));
  const found = await session.run({ logprobs, entropy: new Float32Array(logprobs.length) }, feeds);
  await session.release();
  expect(Math.abs(found.loss - expected.loss)).toBeLessThan(1e-5 * Math.max(1, expected.loss));
  const gradient = sides.flatMap((side) => side.gradient);
  gradient.forEach((value, token) => expect(Math.abs(found.byLogprob[token] - value)).toBeLessThan(1e-4));
  // Metrics of a pass are sums over its pairs.
  const margins = expected.pairs.map(({ margin }) => margin);
  const sum = margins.reduce((total, margin) => total + margin, 0);
  const { margin, accuracy, chosen_reward: chosen, rejected_reward: rejected } = found.metrics;
  expect(Math.abs(margin - sum)).toBeLessThan(1e-5 * Math.max(1, Math.abs(sum)));
  expect(accuracy).toBe(margins.filter((each) => each > 0).length);
  expect(chosen - rejected).toBeCloseTo(margin, 3);
});
