import type { PolicyLossComponent } from '@ui-rl/plugin-kit';
import { evaluateLoss, type EvaluatedLoss, type Tokens } from '../../test/evaluate-loss';
import { cispo, CispoOptions } from './cispo';
import { crossEntropy } from './cross-entropy';
import { dppo, DppoOptions } from './dppo';
import { importanceSampling } from './importance-sampling';
import { ppo, PpoOptions } from './ppo';

// Ratios: 1, e^0.5 = 1.6487, e^-0.5 = 0.6065, e^0.5, e^-0.5, e^2 = 7.389
const tokens: Tokens = {
  logprobs: [-1, -1, -1, -1, -1, -1],
  old_logprobs: [-1, -1.5, -0.5, -1.5, -0.5, -3],
  advantages: [1, 1, 1, -1, -1, -2],
  weights: [1, 1, 1, 1, 1, 1],
};
const up = Math.exp(0.5);
const down = Math.exp(-0.5);
const far = Math.exp(2);

type Evaluate = (tokens: Tokens) => Promise<EvaluatedLoss>;

function loss<Options>(component: PolicyLossComponent<Options>, options: Options): Evaluate {
  return (given) => evaluateLoss(component, options, given);
}

function ppoWith(options: Partial<PpoOptions>): Evaluate {
  return loss(ppo, Object.assign(new PpoOptions(), options));
}

/** Value and derivative of each token's loss, computed by hand. */
const cases: [string, Evaluate, number[], number[]][] = [
  ['cross_entropy', loss(crossEntropy, {}), [1, 1, 1, 1, 1, 1], [-1, -1, -1, -1, -1, -1]],
  [
    'importance_sampling',
    loss(importanceSampling, {}),
    [-1, -up, -down, up, down, 2 * far],
    [-1, -up, -down, up, down, 2 * far],
  ],
  ['ppo', ppoWith({}), [-1, -1.2, -down, up, 0.8, 2 * far], [-1, 0, -down, up, 0, 2 * far]],
  [
    'ppo, clip-higher',
    ppoWith({ clip_low: 0.5, clip_high: 0.28 }),
    [-1, -1.28, -down, up, down, 2 * far],
    [-1, 0, -down, up, down, 2 * far],
  ],
  [
    'ppo, clip_epsilon',
    ppoWith({ clip_epsilon: 0.28 }),
    [-1, -1.28, -down, up, 0.72, 2 * far],
    [-1, 0, -down, up, 0, 2 * far],
  ],
  ['ppo, dual clip', ppoWith({ dual_clip: 3 }), [-1, -1.2, -down, up, 0.8, 6], [-1, 0, -down, up, 0, 0]],
];

describe('policy losses', () => {
  it.each(cases)(
    '%s has the value and the gradient worked by hand',
    async (_name, evaluate, values, slopes) => {
      for (let token = 0; token < values.length; token += 1) {
        const weights = tokens.weights.map((_, index) => (index === token ? 0.25 : 0));
        const result = await evaluate({ ...tokens, weights });
        expect(result.loss).toBeCloseTo(0.25 * values[token], 4);
        const expected = slopes.map((slope, index) => (index === token ? 0.25 * slope : 0));
        result.gradient.forEach((found, index) => expect(found).toBeCloseTo(expected[index], 4));
      }
    },
  );

  it.each(cases)('%s: the gradient agrees with finite differences', async (_name, evaluate) => {
    const random: Tokens = {
      logprobs: [-0.31, -1.7, -2.2, -0.9],
      old_logprobs: [-0.4, -1.1, -2.3, -3.4],
      advantages: [0.7, -1.3, 0.2, -0.6],
      weights: [0.25, 0.5, 1, 2],
    };
    const { gradient } = await evaluate(random);
    const step = 1e-2;
    for (let token = 0; token < 4; token += 1) {
      const moved = (by: number): Promise<EvaluatedLoss> =>
        evaluate({ ...random, logprobs: random.logprobs.map((v, i) => (i === token ? v + by : v)) });
      const difference = ((await moved(step)).loss - (await moved(-step)).loss) / (2 * step);
      expect(Math.abs(gradient[token] - difference)).toBeLessThan(2e-3 * Math.max(1, Math.abs(difference)));
    }
  });
});

describe('clip_fraction of ppo', () => {
  const clipped = async (options: Partial<PpoOptions>): Promise<number[]> =>
    (await ppoWith(options)(tokens)).metrics.clip_fraction;

  it('counts tokens whose gradient the clip takes away, and no other', async () => {
    expect(await clipped({})).toEqual([0, 1, 0, 0, 1, 0]);
    expect(await clipped({ clip_low: 0.5, clip_high: 0.28 })).toEqual([0, 1, 0, 0, 0, 0]);
    expect(await clipped({ dual_clip: 3 })).toEqual([0, 1, 0, 0, 1, 1]);
  });

  it('does not count a token without an advantage', async () => {
    const { metrics } = await ppoWith({})({ ...tokens, advantages: [0, 0, 0, 0, 0, 0] });
    expect(metrics.clip_fraction).toEqual([0, 0, 0, 0, 0, 0]);
  });
});

describe('options that make no sense', () => {
  it('are refused by cispo, where no ratio fits between its bounds', () => {
    expect(() => cispo.create(Object.assign(new CispoOptions(), { ratio_low: 5 }), {})).toThrow(
      'cispo: ratio_low is 5, expected at most ratio_high (4)',
    );
  });

  it('are refused by ppo, where clip_epsilon stands beside what it stands for', () => {
    const options = Object.assign(new PpoOptions(), { clip_epsilon: 0.3 });
    expect(ppo.conflicts?.(options, {})).toEqual([]);
    expect(ppo.conflicts?.(Object.assign(options, { clip_high: 0.28 }), {})).toEqual([
      'clip_epsilon stands for clip_low and clip_high: leave it out, or clip_high',
    ]);
  });

  it('are refused by dppo, which needs no correction', () => {
    const beside = (name: string): readonly string[] | undefined =>
      dppo.conflicts?.(new DppoOptions(), { algorithm: { correction: { name } } });
    expect(beside('none')).toEqual([]);
    expect(beside('tis')).toEqual([expect.stringContaining('algorithm.correction would count twice')]);
  });
});
