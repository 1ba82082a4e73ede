import type { AdvantageEstimator } from '@ui-rl/plugin-kit';
import { groupOf, StoppingPolicy, turnOf } from '../../test/stopping';
import { gae, GaeOptions } from './gae';
import { rloo } from './rloo';

const estimator = (gamma: number, gae_lambda: number): AdvantageEstimator =>
  gae.create(Object.assign(new GaeOptions(), { gamma, gae_lambda }), {});

describe('gae', () => {
  it('passes from the last token of a turn to the first one of the next; rewards belong to the last token of their turn', () => {
    const turns = [turnOf(0.5, [1, 2]), turnOf(0, []), turnOf(1, [3])];
    const { advantages, returns } = estimator(0.5, 0.5).estimate([groupOf(turns)]);
    // TD errors from the end: 1 − 3 = −2; 0.5 + 0.5·3 − 2 = 0; 0.5·2 − 1 = 0.
    expect(advantages[0][0]!.map((each) => [...each])).toEqual([[-0.125, -0.5], [], [-2]]);
    expect(returns![0][0]!.map((each) => [...each])).toEqual([[0.875, 1.5], [], [1]]);
  });

  it('gives what a turn without tokens earned to the token before it, where there is one', () => {
    const turns = [turnOf(5, []), turnOf(0, [0]), turnOf(2, [])];
    const { advantages } = estimator(1, 1).estimate([groupOf(turns)]);
    expect(advantages[0][0]!.map((each) => [...each])).toEqual([[], [2], []]);
  });

  it('names the turn that has no values', () => {
    const broken = { ...turnOf(0, [1, 2]), inputs: { values: Float32Array.of(1) } };
    expect(() => estimator(1, 1).estimate([groupOf([broken])])).toThrow(
      'turn 0 of r0 has 1 values, expected 2, one per sampled token',
    );
  });

  it('learns also from a group whose episodes all earned the same', () => {
    const { advantages } = estimator(1, 1).estimate([groupOf([turnOf(1, [0])], [turnOf(1, [0.25])])]);
    expect(advantages[0].map((turns) => turns![0][0])).toEqual([1, 0.75]);
    expect(gae.learnsFromEveryGroup).toBe(true);
  });
});

describe('where the policy decides when to stop', () => {
  const policy = new StoppingPolicy([0.3, 0.6], [0.4, 0, 1]);

  const expectTrue = (found: number[]): void =>
    found.forEach((value, at) => expect(value).toBeCloseTo(policy.gradient[at], 6));

  /** A biased baseline: compares each turn's return with those of the episodes that reached that turn. */
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
    const found = policy.expectedGradient(perTurnBaseline);
    const [first, second] = found.map((value, at) => value / policy.gradient[at]);
    expect(first).toBeCloseTo(1 / 2, 6);
    expect(second).toBeCloseTo(0.3 / 2, 6);
  });

  it('a critic is not, with any values of states, as long as no target comes from its values alone', () => {
    for (const values of [policy.worth, [0, 0, 0], [3, -2, 0.5]]) {
      expectTrue(policy.expectedGradient((groups) => estimator(1, 1).estimate(groups), { values }));
    }
  });

  it('nor is one that knows what states are worth, however much it is trusted', () => {
    for (const lambda of [0, 0.5, 0.95]) {
      const trusting = estimator(1, lambda);
      expectTrue(policy.expectedGradient((groups) => trusting.estimate(groups), { values: policy.worth }));
    }
    const wrong = policy.expectedGradient((groups) => estimator(1, 0).estimate(groups), {
      values: [3, -2, 0.5],
    });
    expect(Math.abs(wrong[0] - policy.gradient[0])).toBeGreaterThan(0.1);
  });

  it('nor are whole episodes compared with each other', () => {
    expectTrue(policy.expectedGradient((groups) => rloo.create({}, {}).estimate(groups)));
  });
});
