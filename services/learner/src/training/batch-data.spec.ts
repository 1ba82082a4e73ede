import type { Turn } from '@ui-rl/contracts';
import { split, trainedTurns, type BatchDataOptions } from './batch-data';
import { groupOf, turnOf } from '../../test/groups';
import type { TurnSequence } from './turn-data';

const groups = [
  groupOf(0, [
    { turns: [turnOf(2), turnOf(0), turnOf(4)] },
    { turns: [turnOf(2)] },
    { turns: [turnOf(1)] },
    { turns: [turnOf(3)] },
  ]),
];
const [[long, , longer], [second], [third], [fourth]] = groups[0].trajectories.map(({ turns }) => turns);

/** One advantage per turn; turns without one are not trained on. */
function trained(
  advantages: [Turn, number][],
  options: Partial<BatchDataOptions> = {},
): { turn: Turn; weight: number; pair?: string }[] {
  const sequences = new Map(
    groups[0].trajectories
      .flatMap(({ turns }) => turns)
      .filter(({ tokenIds }) => tokenIds.length > 0)
      .map((turn): [Turn, TurnSequence] => [turn, { turn } as TurnSequence]),
  );
  const perTurn = new Map(
    advantages.map(([turn, advantage]) => [turn, new Float32Array(turn.tokenIds.length).fill(advantage)]),
  );
  const all = trainedTurns(groups, sequences, perTurn, {
    scope: 'token',
    skipsZeroAdvantages: true,
    aggregation: 'token-mean',
    ...options,
  });
  return all.map(({ sequence, weights, pair }) => {
    expect(new Set(weights).size).toBe(1);
    expect(weights).toHaveLength(sequence.turn.tokenIds.length);
    return {
      turn: sequence.turn,
      weight: weights[0],
      ...(pair === undefined ? {} : { pair: `${pair.id} ${pair.side}` }),
    };
  });
}

describe('the data of a step', () => {
  it('leave out what has no advantage, which counts in the means all the same', () => {
    expect(
      trained([
        [long, 1],
        [longer, 1],
        [second, 0],
      ]),
    ).toEqual([
      { turn: long, weight: Math.fround(1 / 8) },
      { turn: longer, weight: Math.fround(1 / 8) },
    ]);
  });

  it('leave out tokens that may not be trained, also in the means', () => {
    const sequences = new Map([long, second].map((turn) => [turn, { turn } as TurnSequence]));
    const advantages = new Map([long, second].map((turn) => [turn, new Float32Array(2).fill(1)]));
    const mayTrain = (turn: Turn): boolean[] => (turn === long ? [false, true] : [true, true]);
    const options = { scope: 'token', skipsZeroAdvantages: true, aggregation: 'token-mean' } as const;
    const third = Math.fround(1 / 3);
    expect(trainedTurns(groups, sequences, advantages, { ...options, mayTrain })).toMatchObject([
      { sequence: { turn: long }, weights: Float32Array.of(0, third) },
      { sequence: { turn: second }, weights: Float32Array.of(third, third) },
    ]);
    const none = (turn: Turn): boolean[] => turn.tokenIds.map(() => turn === second);
    expect(trainedTurns(groups, sequences, advantages, { ...options, mayTrain: none })).toMatchObject([
      { sequence: { turn: second }, weights: Float32Array.of(0.5, 0.5) },
    ]);
  });

  it('hold what has no advantage where the loss has a gradient there', () => {
    const all = trained(
      [
        [long, 1],
        [second, 0],
      ],
      { skipsZeroAdvantages: false },
    );
    expect(all.map(({ turn }) => turn)).toEqual([long, second]);
  });

  it('weigh what is imitated as the selection says', () => {
    const selection: [Turn, number][] = [
      [long, 0.5],
      [second, 1],
    ];
    const weights = trained(selection, { advantagesAreWeights: true }).map(({ weight }) => weight);
    expect(weights).toEqual([0.5 / 4, 1 / 4]);
  });

  it('weigh turns alike by sequence-mean, and episodes where the loss is one of sequences', () => {
    const advantages: [Turn, number][] = [
      [long, 1],
      [longer, 1],
      [second, 1],
    ];
    const weights = (scope: BatchDataOptions['scope']): number[] =>
      trained(advantages, { aggregation: 'sequence-mean', scope }).map(({ weight }) => weight);
    expect(weights('token')).toEqual([1 / 6, 1 / 12, 1 / 6].map(Math.fround));
    expect(weights('sequence')).toEqual([1 / 12, 1 / 12, 1 / 4].map(Math.fround));
  });

  it('keep a sequence whole where one of its turns has an advantage', () => {
    const all = trained(
      [
        [long, 0],
        [longer, 1],
        [second, 0],
      ],
      { scope: 'sequence' },
    );
    expect(all.map(({ turn }) => turn)).toEqual([long, longer]);
  });

  it('pair the best episode with the worst, the next with the last but one', () => {
    const all = trained(
      [
        [long, 3],
        [longer, 3],
        [second, -1],
        [third, 2],
        [fourth, 1],
      ],
      { scope: 'pair', skipsZeroAdvantages: false, aggregation: 'sequence-mean' },
    );
    expect(all.map(({ turn, pair }) => [turn, pair])).toEqual([
      [long, 'g0/0 chosen'],
      [longer, 'g0/0 chosen'],
      [second, 'g0/0 rejected'],
      [third, 'g0/1 chosen'],
      [fourth, 'g0/1 rejected'],
    ]);
    const total = all.reduce((sum, { turn, weight }) => sum + weight * turn.tokenIds.length, 0);
    expect(total).toBeCloseTo(1, 6);
  });

  it('pair none that are alike, and none that are not trained', () => {
    const options = { scope: 'pair', skipsZeroAdvantages: false } as const;
    expect(
      trained(
        [
          [second, 1],
          [third, 1],
        ],
        options,
      ),
    ).toEqual([]);
    expect(
      trained(
        [
          [long, 1],
          [longer, 1],
          [second, 0],
          [third, 0.5],
        ],
        options,
      ),
    ).toMatchObject([{ turn: long }, { turn: longer }, { turn: second }]);
  });

  it('pair no episode of which a part is too old: of that part its side would say nothing', () => {
    const advantages: [Turn, number][] = [
      [long, 3],
      [longer, 3],
      [second, -1],
      [third, 2],
      [fourth, 1],
    ];
    const mayTrain = (turn: Turn) => turn.tokenIds.map((_, token) => turn !== longer || token > 0);
    const all = trained(advantages, { scope: 'pair', skipsZeroAdvantages: false, mayTrain });
    expect(all.map(({ turn }) => turn)).toEqual([third, fourth]);
  });

  it('are split into parts of nearly equal size', () => {
    expect(split([1, 2, 3, 4, 5], 2)).toEqual([
      [1, 2],
      [3, 4, 5],
    ]);
    expect(split([1], 3)).toEqual([[1]]);
  });
});
