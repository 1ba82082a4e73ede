import type { AdvantageEstimator, EpisodeGroup, TurnExperience } from '@ui-rl/plugin-kit';
import { gae, GaeOptions } from './gae';
import { rloo } from './rloo';

const estimator = (gamma: number, gae_lambda: number): AdvantageEstimator =>
  gae.create(Object.assign(new GaeOptions(), { gamma, gae_lambda }), {});

/** A turn of as many tokens as there are values. */
const turn = (reward: number, values: number[]): TurnExperience => ({
  reward,
  screenshot: 'a',
  logprobs: new Float32Array(values.length),
  inputs: { values: Float32Array.from(values) },
});

const groupOf = (...episodes: TurnExperience[][]): EpisodeGroup => ({
  task: { id: 't', description: 'Turn on Wi-Fi' },
  episodes: episodes.map((turns, index) => ({
    rolloutId: `r${index}`,
    reward: turns.reduce((sum, { reward }) => sum + reward, 0),
    rewards: {},
    success: null,
    status: 'completed',
    turns,
  })),
});

describe('gae', () => {
  it('passes from the last token of a turn to the first one of the next; rewards belong to the last token of their turn', () => {
    const turns = [turn(0.5, [1, 2]), turn(0, []), turn(1, [3])];
    const { advantages, returns } = estimator(0.5, 0.5).estimate([groupOf(turns)]);
    // Errors from behind: 1 − 3 = −2; 0.5 + 0.5·3 − 2 = 0; 0.5·2 − 1 = 0.
    expect(advantages[0][0]!.map((each) => [...each])).toEqual([[-0.125, -0.5], [], [-2]]);
    expect(returns![0][0]!.map((each) => [...each])).toEqual([[0.875, 1.5], [], [1]]);
  });

  it('gives what a turn without tokens earned to the token before it, where there is one', () => {
    const turns = [turn(5, []), turn(0, [0]), turn(2, [])];
    const { advantages } = estimator(1, 1).estimate([groupOf(turns)]);
    expect(advantages[0][0]!.map((each) => [...each])).toEqual([[], [2], []]);
  });

  it('names the turn that has no values', () => {
    const broken = { ...turn(0, [1, 2]), inputs: { values: Float32Array.of(1) } };
    expect(() => estimator(1, 1).estimate([groupOf([broken])])).toThrow(
      'turn 0 of r0 has 1 values, expected 2, one per sampled token',
    );
  });

  it('learns also from a group whose episodes all earned the same', () => {
    expect(estimator(1, 1).hasLearningSignal?.(groupOf([turn(1, [0])], [turn(1, [0])]))).toBe(true);
  });
});

/**
 * A policy that decides when to stop: at turn 0 and 1 it goes on with some probability, after turn 2 the episode is over. Everything is
 * counted out, so that expected gradients are exact.
 */
describe('where the policy decides when to stop', () => {
  const GO_ON = [0.3, 0.6];
  /** By the turn at which it stops. */
  const EARNED = [0.4, 0, 1];
  const [p0, p1] = GO_ON;
  const WORTH = [0.7 * 0.4 + p0 * p1, p1, 1];
  /** d J / d logit of going on at turn 0 and 1: p (1 − p), how often one comes there, and what is gained by it. */
  const TRUE = [p0 * (1 - p0) * (WORTH[1] - EARNED[0]), p0 * p1 * (1 - p1) * (1 - 0)];

  const probability = (stop: number): number => [1 - p0, p0 * (1 - p1), p0 * p1][stop];
  const episode = (stop: number, values: readonly number[]): TurnExperience[] =>
    Array.from({ length: stop + 1 }, (_, at) => turn(at === stop ? EARNED[stop] : 0, [values[at]]));

  /** What groups of two give on average: Σ advantage · d log π / d logit, per episode. */
  function expectedGradient(estimate: AdvantageEstimator['estimate'], values = [0, 0, 0]): number[] {
    const gradient = [0, 0];
    for (const first of [0, 1, 2]) {
      for (const second of [0, 1, 2]) {
        const { advantages } = estimate([groupOf(episode(first, values), episode(second, values))]);
        [first, second].forEach((stop, e) => {
          for (const at of [0, 1]) {
            if (at > stop) continue;
            const slope = (at < stop ? 1 : 0) - GO_ON[at];
            const advantage = advantages[0][e]![at][0];
            gradient[at] += (probability(first) * probability(second) * advantage * slope) / 2;
          }
        });
      }
    }
    return gradient;
  }

  const expectClose = (found: number[], expected: number[]): void =>
    found.forEach((value, at) => expect(value).toBeCloseTo(expected[at], 6));

  /** The trap: each turn's return is compared with those of the episodes that came as far. */
  const perTurnBaseline: AdvantageEstimator['estimate'] = (groups) => ({
    advantages: groups.map(({ episodes }) =>
      episodes.map(({ turns, reward }) =>
        turns.map((_, at) => {
          const there = episodes.filter((other) => other.turns.length > at);
          const mean = there.reduce((sum, other) => sum + other.reward, 0) / there.length;
          return Float32Array.of(reward - mean);
        }),
      ),
    ),
  });

  it('a baseline per turn is biased: what is learnt of later turns depends on how many others come there', () => {
    const [first, second] = expectedGradient(perTurnBaseline).map((value, at) => value / TRUE[at]);
    expect(first).toBeCloseTo(1 / 2, 6);
    expect(second).toBeCloseTo(p0 / 2, 6);
  });

  it('a critic is not, whatever it says of states, as long as nothing is taken from its values alone', () => {
    for (const values of [WORTH, [0, 0, 0], [3, -2, 0.5]]) {
      expectClose(
        expectedGradient((groups) => estimator(1, 1).estimate(groups), values),
        TRUE,
      );
    }
  });

  it('nor is one that knows what states are worth, however much it is trusted', () => {
    for (const lambda of [0, 0.5, 0.95]) {
      expectClose(
        expectedGradient((groups) => estimator(1, lambda).estimate(groups), WORTH),
        TRUE,
      );
    }
    const wrong = expectedGradient((groups) => estimator(1, 0).estimate(groups), [3, -2, 0.5]);
    expect(Math.abs(wrong[0] - TRUE[0])).toBeGreaterThan(0.1);
  });

  it('nor are whole episodes compared with each other', () => {
    expectClose(
      expectedGradient((groups) => rloo.create({}, {}).estimate(groups)),
      TRUE,
    );
  });
});
