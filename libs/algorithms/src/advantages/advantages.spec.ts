import type { AdvantageEstimator, EpisodeGroup } from '@ui-rl/plugin-kit';
import { distillation, DistillationOptions } from './distillation';
import { drGrpo } from './dr-grpo';
import { gigpo, GigpoOptions } from './gigpo';
import { grpo } from './grpo';
import { reinforcePlusPlus, ReinforcePlusPlusOptions } from './reinforce-plus-plus';
import { rejectionSampling, RejectionSamplingOptions } from './rejection-sampling';
import { rloo } from './rloo';
import { standardDeviation } from './statistics';

/** Episodes with these returns and two turns, of two tokens and one. */
function group(...rewards_G: number[]): EpisodeGroup {
  const turn = (tokens: number) => ({
    reward: 0,
    screenshot: 'a',
    logprobs: new Float32Array(tokens),
    inputs: {},
  });
  return {
    task: {
      id: 't',
      description: 'Turn on Wi-Fi',
      environment: { kind: 'browser' },
      category: 'simple',
    } as never,
    episodes: rewards_G.map((reward, index) => ({
      rolloutId: `r${index}`,
      reward,
      rewards: {},
      success: null,
      status: 'completed',
      turns: [turn(2), turn(1)],
    })),
  };
}

/** The number of each episode, which all its tokens must share. */
function perEpisode(estimator: AdvantageEstimator, ...rewards_G: number[]): (number | null)[] {
  const { advantages } = estimator.estimate([group(...rewards_G)]);
  return advantages[0].map((turns) => {
    if (turns === null) return null;
    const [first, second] = turns;
    expect([...first, ...second]).toEqual([first[0], first[0], first[0]]);
    return first[0];
  });
}

describe('group advantages', () => {
  it('are centred and scaled by the sample standard deviation for grpo', () => {
    // mean 0.25, deviations .75, -.25 ×3, std sqrt(.75/3) = 0.5
    const advantages = perEpisode(grpo.create({}, {}), 1, 0, 0, 0);
    expect(advantages[0]).toBeCloseTo(0.75 / (0.5 + 1e-6), 6);
    expect(advantages[1]).toBeCloseTo(-0.25 / (0.5 + 1e-6), 6);
  });

  it('are only centred for dr_grpo', () => {
    expect(perEpisode(drGrpo.create({}, {}), 1, 0, 0, 0)).toEqual([0.75, -0.25, -0.25, -0.25]);
  });

  it('are exactly 0 where all episodes earned the same, also with rounding in the mean', () => {
    for (const component of [grpo, drGrpo, rloo]) {
      expect(perEpisode(component.create({}, {}), 0.1, 0.1, 0.1)).toEqual([0, 0, 0]);
      expect(perEpisode(component.create({}, {}), 3)).toEqual([0]);
    }
  });

  it('are those of each group by itself', () => {
    const { advantages } = drGrpo.create({}, {}).estimate([group(1, 0), group(5, 3)]);
    expect(advantages.map((episodes) => episodes.map((turns) => turns![0][0]))).toEqual([
      [0.5, -0.5],
      [1, -1],
    ]);
  });

  it('refuse a reward that is not a number, and name its episode', () => {
    expect(() => perEpisode(grpo.create({}, {}), 1, Number.NaN)).toThrow('episode r1 has reward NaN');
  });

  it('use n − 1 in the standard deviation', () => {
    expect(standardDeviation([1, 3])).toBeCloseTo(Math.SQRT2, 12);
    expect(standardDeviation([5])).toBe(0);
  });
});

describe('rejection sampling', () => {
  const sampling = (reward_threshold: number, best_of_group = false): AdvantageEstimator =>
    rejectionSampling.create(
      Object.assign(new RejectionSamplingOptions(), { reward_threshold, best_of_group }),
      {},
    );

  it('keeps what exceeds the threshold', () => {
    expect(perEpisode(sampling(0), 0, 0.5, 1)).toEqual([null, 1, 1]);
    expect(perEpisode(sampling(0.5), 0, 0.5, 1)).toEqual([null, null, 1]);
  });

  it('keeps only the best of a group where asked, and nothing below the threshold', () => {
    expect(perEpisode(sampling(0, true), 0, 0.5, 1, 1)).toEqual([null, null, 1, 1]);
    expect(perEpisode(sampling(0, true), 0, 0)).toEqual([null, null]);
  });

  it('learns from groups in which an episode is kept, also where all are', () => {
    const learns = (...rewards: number[]): boolean | undefined =>
      sampling(0).hasLearningSignal?.(group(...rewards));
    expect([learns(0, 0), learns(0, 1), learns(1, 1)]).toEqual([false, true, true]);
  });
});

describe('groups that are worth a place in the batch', () => {
  it('are for gigpo also those whose episodes earned the same in different numbers of turns', () => {
    const estimator = gigpo.create(new GigpoOptions(), {});
    const same = group(1, 1);
    expect(estimator.hasLearningSignal?.(same)).toBe(false);
    const [first, second] = same.episodes.map((episode) => ({
      ...episode,
      turns: episode.turns.map((turn, index) => ({ ...turn, reward: index, screenshot: String(index) })),
    }));
    const shorter = { ...second, turns: [{ ...second.turns[0], reward: 1 }] };
    expect(estimator.hasLearningSignal?.({ ...same, episodes: [first, shorter] })).toBe(true);
    const { advantages, metrics } = estimator.estimate([{ ...same, episodes: [first, shorter] }]);
    // Of the two turns from screen 0, the one that ended immediately has the higher discounted return: 1 against
    // 0.95.
    expect(advantages[0].map((turns) => Math.sign(turns![0][0]))).toEqual([-1, 1]);
    expect(metrics?.compared_turns).toBeCloseTo(2 / 3, 12);
  });

  it('are for reinforce_plus_plus all of them, since groups are compared with the batch', () => {
    const groups = [group(1, 1), group(0, 0)];
    for (const { turns, reward } of groups.flatMap(({ episodes }) => episodes)) {
      Object.assign(turns[0], { reward });
      for (const turn of turns) Object.assign(turn.inputs, { reference_logprobs: turn.logprobs });
    }
    const { advantages } = reinforcePlusPlus.create(new ReinforcePlusPlusOptions(), {}).estimate(groups);
    expect(advantages.map(([first]) => Math.sign(first![0][0]))).toEqual([1, -1]);
    expect(reinforcePlusPlus.learnsFromEveryGroup).toBe(true);
  });
});

describe('distillation', () => {
  /** Two episodes of a turn of two tokens and one of one token. */
  function taught(): EpisodeGroup {
    const shown = group(1, 0);
    const sampled = [[-1, -2], [-0.5]];
    const teacher = [[-0.5, -4], [-0.25]];
    for (const { turns } of shown.episodes) {
      turns.forEach((turn, t) =>
        Object.assign(turn, {
          logprobs: Float32Array.from(sampled[t]),
          inputs: { teacher_logprobs: Float32Array.from(teacher[t]) },
        }),
      );
    }
    return shown;
  }

  function estimated(options: Partial<DistillationOptions>): number[][][] {
    const estimator = distillation.create(Object.assign(new DistillationOptions(), options), {});
    const { advantages } = estimator.estimate([taught()]);
    return advantages[0].map((turns) => turns!.map((tokens) => Array.from(tokens)));
  }

  it('gives each token how much more probable the teacher finds it', () => {
    const expected = [[0.5, -2], [0.25]];
    expect(estimated({})).toEqual([expected, expected]);
    expect(estimated({ coef: 2 })[0]).toEqual([[1, -4], [0.5]]);
  });

  it('discounts the tokens after it, within a turn', () => {
    expect(estimated({ discount: 0.5 })[0]).toEqual([[0.5 - 1, -2], [0.25]]);
  });

  it('adds the return minus the mean of its group', () => {
    expect(estimated({ rewards: true })).toEqual([
      [[1, -1.5], [0.75]],
      [[0, -2.5], [-0.25]],
    ]);
  });

  it('reports the divergence from the teacher, and learns from groups with equal rewards', () => {
    const { metrics } = distillation.create(new DistillationOptions(), {}).estimate([taught()]);
    // Mean of log π_sample − log π_teacher over −0.5, 2 and −0.25, twice.
    expect(metrics?.teacher_kl).toBeCloseTo(1.25 / 3, 6);
    expect(distillation.learnsFromEveryGroup).toBe(true);
  });
});
