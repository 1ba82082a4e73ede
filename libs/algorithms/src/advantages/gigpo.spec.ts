import type { AdvantageEstimator } from '@ui-rl/plugin-kit';
import { StoppingPolicy } from '../../test/stopping';
import { gigpo, GigpoOptions } from './gigpo';

/** Without discount and scaling, to isolate the comparison. */
function estimatorWith(step_weight: number): AdvantageEstimator {
  const options = { step_weight, gamma: 1, divide_by_std: false };
  return gigpo.create(Object.assign(new GigpoOptions(), options), {});
}

function gradientOf(policy: StoppingPolicy, step_weight: number, groupSize = 2): number[] {
  return policy.expectedGradient((groups) => estimatorWith(step_weight).estimate(groups), { groupSize });
}

describe('gigpo, where the policy decides when to stop', () => {
  const policy = new StoppingPolicy([0.3, 0.6], [0.4, 0, 1]);
  const sharesOf = (gradient: readonly number[]): number[] =>
    gradient.map((value, at) => value / policy.gradient[at]);

  it('learns the less of a later turn, the fewer others of its group come there', () => {
    // Groups of two whole episodes give half of the gradient everywhere; so do first turns, which all episodes share.
    const [first, second] = sharesOf(gradientOf(policy, 1));
    expect(first).toBeCloseTo(1 / 2 + 1 / 2, 6);
    expect(second).toBeCloseTo(1 / 2 + 0.3 / 2, 6);
  });

  it('learns to stop where going on is better, if one habit decides at every turn', () => {
    const habit = new StoppingPolicy([0.5, 0.5], [0.95, 0, 1]);
    const [first, second] = habit.gradient;
    expect(first + second).toBeGreaterThan(0.01);
    const [found, later] = gradientOf(habit, 1);
    expect(found + later).toBeLessThan(-0.01);
  });

  it('does not where whole episodes alone are compared: step_weight 0', () => {
    for (const share of sharesOf(gradientOf(policy, 0))) expect(share).toBeCloseTo(1 / 2, 6);
  });

  it('does so less in larger groups, where more come along', () => {
    const lag = (groupSize: number): number => {
      const [first, second] = sharesOf(gradientOf(policy, 1, groupSize));
      return second / first;
    };
    expect(lag(2)).toBeCloseTo(0.65, 6);
    expect(lag(8)).toBeGreaterThan(0.8);
    expect(lag(8)).toBeLessThan(1);
  });
});
