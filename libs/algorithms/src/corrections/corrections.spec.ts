import type { Correction, CorrectionInput } from '@ui-rl/plugin-kit';
import { mis, MisOptions } from './mis';
import { none } from './none';
import type { RatioOptions } from './ratios';
import { tis, TisOptions } from './tis';

/** Log-ratios of two turns: 0, 0.5 and 2; -1 and 0.2. */
const turns: CorrectionInput[] = [
  { sampleLogprobs: Float32Array.of(-1, -1, -3), proximalLogprobs: Float32Array.of(-1, -0.5, -1) },
  { sampleLogprobs: Float32Array.of(-0.5, -2), proximalLogprobs: Float32Array.of(-1.5, -1.8) },
];

type Level = RatioOptions['importance_ratio_of'];

function expectWeights(correction: Correction | null, expected: number[][]): void {
  const found = correction!.weights(turns);
  expect(found.map(({ length }) => length)).toEqual(expected.map(({ length }) => length));
  expected.forEach((own, turn) =>
    own.forEach((weight, token) => expect(found[turn][token]).toBeCloseTo(weight, 5)),
  );
}

const perTurn = (first: number, second: number): number[][] => [
  [first, first, first],
  [second, second],
];

describe('corrections', () => {
  it('none has no weights', () => {
    expect(none.create({}, {})).toBeNull();
  });

  it.each<[Level, number[][]]>([
    [
      'token',
      [
        [1, Math.exp(0.5), 2],
        [Math.exp(-1), Math.exp(0.2)],
      ],
    ],
    ['turn', perTurn(2, Math.exp(-0.8))],
    ['turn-mean', perTurn(2, Math.exp(-0.4))],
    ['episode', perTurn(2, 2)],
    ['episode-mean', perTurn(Math.exp(0.34), Math.exp(0.34))],
  ])('tis by %s weighs by the ratio of trainer and sampler, up to the cap', (level, expected) => {
    const options = Object.assign(new TisOptions(), { importance_ratio_of: level });
    expectWeights(tis.create(options, {}), expected);
  });

  it.each<[Level, number[][]]>([
    [
      'token',
      [
        [1, Math.exp(0.5), 0],
        [0, Math.exp(0.2)],
      ],
    ],
    ['turn', perTurn(0, 0)],
    ['turn-mean', perTurn(0, Math.exp(-0.4))],
    ['episode', perTurn(0, 0)],
    ['episode-mean', perTurn(Math.exp(0.34), Math.exp(0.34))],
  ])('mis by %s leaves out what is outside of its range', (level, expected) => {
    const options = Object.assign(new MisOptions(), { importance_ratio_of: level });
    expectWeights(mis.create(options, {}), expected);
  });

  it('mis needs a range', () => {
    const options = Object.assign(new MisOptions(), { importance_ratio_low: 2 });
    expect(() => mis.create(options, {})).toThrow(
      'mis: importance_ratio_low is 2, expected less than importance_ratio_high (2)',
    );
  });
});
