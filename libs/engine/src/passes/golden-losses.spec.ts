import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { components } from '@ui-rl/algorithms';
import type { ComponentChoice, LossInput } from '@ui-rl/plugin-kit';
import { Algorithms } from '../training/algorithms';
import type { TrainingDatum } from '../training/data';
import { lossFeeds } from '../training/loss-feeds';
import { LossSession } from './loss-session';

interface Golden {
  data: (Required<Pick<TrainingDatum, 'sequence' | 'pair'>> & { tokens: number })[];
  tokens: Record<LossInput | 'logprobs' | 'entropy' | 'weights', number[]>;
  cases: { choice: ComponentChoice; loss: number; byLogprob: number[] }[];
}

/** Written by test/golden/make_algorithms.py, with PyTorch. */
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

let algorithms: Algorithms;
beforeAll(async () => (algorithms = await Algorithms.load([])));

describe('losses', () => {
  it.each(golden.cases)('$choice has the value and the gradient that PyTorch computes', async (expected) => {
    const loss = algorithms.loss(expected.choice);
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
    const gaps = expected.byLogprob.map((slope, token) => Math.abs(slope - found.byLogprob[token]));
    expect(Math.max(...gaps)).toBeLessThan(1e-5);
  });

  it('are all compared', () => {
    const names = components.filter(({ kind }) => kind === 'policy-loss').map(({ name }) => name);
    expect(new Set(golden.cases.map(({ choice }) => choice.name))).toEqual(new Set(names));
  });
});
