import { groupAdvantages, hasRewardSpread, standardDeviation } from './advantages';
import { selectByReward } from './rejection';

describe('group advantages', () => {
  it('are centred and scaled by the sample standard deviation for grpo', () => {
    // mean 0.25, deviations .75, -.25 ×3, std sqrt(.75/3) = 0.5
    const advantages = groupAdvantages([1, 0, 0, 0], 'grpo');
    expect(advantages[0]).toBeCloseTo(0.75 / (0.5 + 1e-6), 12);
    expect(advantages[1]).toBeCloseTo(-0.25 / (0.5 + 1e-6), 12);
  });

  it('are only centred for dr_grpo', () => {
    expect(groupAdvantages([1, 0, 0, 0], 'dr_grpo')).toEqual([0.75, -0.25, -0.25, -0.25]);
  });

  it('are exactly 0 where all episodes earned the same, also with rounding in the mean', () => {
    expect(groupAdvantages([0.1, 0.1, 0.1], 'grpo')).toEqual([0, 0, 0]);
    expect(groupAdvantages([3], 'grpo')).toEqual([0]);
    expect(hasRewardSpread([0.1, 0.1])).toBe(false);
    expect(hasRewardSpread([0.1, 0.2])).toBe(true);
  });

  it('refuse a reward that is no number', () => {
    expect(() => groupAdvantages([1, Number.NaN], 'grpo')).toThrow('reward 1 of the group is NaN');
  });

  it('use n − 1 in the standard deviation', () => {
    expect(standardDeviation([1, 3])).toBeCloseTo(Math.SQRT2, 12);
    expect(standardDeviation([5])).toBe(0);
  });
});

describe('rejection sampling', () => {
  it('keeps what exceeds the threshold', () => {
    expect(selectByReward([0, 0.5, 1], { rewardThreshold: 0 })).toEqual([false, true, true]);
    expect(selectByReward([0, 0.5, 1], { rewardThreshold: 0.5 })).toEqual([false, false, true]);
  });

  it('keeps only the best of a group where asked, and nothing below the threshold', () => {
    expect(selectByReward([0, 0.5, 1, 1], { rewardThreshold: 0, bestOfGroup: true })).toEqual([
      false,
      false,
      true,
      true,
    ]);
    expect(selectByReward([0, 0], { rewardThreshold: 0, bestOfGroup: true })).toEqual([false, false]);
  });
});
