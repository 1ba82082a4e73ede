import type { AdvantageEstimate, AdvantageEstimator, EpisodeGroup } from '@ui-rl/plugin-kit';
import { makeTask, makeTrajectory } from '@ui-rl/testkit';
import { Group } from '../episodes/groups';
import { experienceOf } from './experience';
import { withSuccessReplay } from './success-replay';

/** Gives each episode its reward minus the mean of the rewards that it sees in the group. */
const centered: AdvantageEstimator = {
  estimate: (groups, memory) => ({
    advantages: groups.map(({ episodes }) => {
      const mean = episodes.reduce((sum, { reward }) => sum + reward, 0) / episodes.length;
      return episodes.map(({ reward, turns }) =>
        turns.map(({ logprobs }) => new Float32Array(logprobs.length).fill(reward - mean)),
      );
    }),
    memory: ((memory as number | undefined) ?? 0) + 1,
    metrics: { own: 1 },
  }),
};

/** Presents each batch with the episodes that the one before it kept. */
class Batches {
  private readonly trajectories = new Map<string, EpisodeGroup>();
  private memory: unknown;
  private kept: readonly string[] = [];
  private played = 0;

  constructor(private readonly estimator: AdvantageEstimator) {}

  /** @param groups rewards of the episodes of a task; 1 is a success */
  next(groups: readonly [task: string, rewards: readonly number[]][]): AdvantageEstimate {
    const fresh = groups.map(([task, rewards]) => this.play(task, rewards));
    const replayed = this.kept.map((rolloutId) => this.trajectories.get(rolloutId)!);
    const estimate = this.estimator.estimate([...fresh, ...replayed], this.memory);
    // As in a checkpoint.
    this.memory = JSON.parse(JSON.stringify(estimate.memory)) as unknown;
    this.kept = estimate.keep ?? [];
    return estimate;
  }

  hasSignal(task: string, rewards: readonly number[]): boolean | undefined {
    return this.estimator.hasLearningSignal?.(this.play(task, rewards), this.memory);
  }

  get keeps(): readonly string[] {
    return this.kept;
  }

  private play(id: string, rewards: readonly number[]): EpisodeGroup {
    const task = makeTask({ id });
    const number = (this.played += 1);
    const episodes = rewards.map((reward, index) => {
      const trajectory = makeTrajectory({ reward, success: reward === 1 });
      Object.assign(trajectory.request, { task, rolloutId: `${id}${number}-${index}`, indexInGroup: index });
      this.trajectories.set(
        trajectory.request.rolloutId,
        experienceOf(Group.replayed(0, `kept-${number}`, [trajectory])),
      );
      return trajectory;
    });
    const { isReplayed: _, ...group } = experienceOf(Group.replayed(0, `g${number}`, episodes));
    return group;
  }
}

/** The number of each episode; null: not trained on. */
function numbers({ advantages }: AdvantageEstimate): (number | null)[][] {
  return advantages.map((group) => group.map((episode) => episode?.[0][0] ?? null));
}

describe('an estimator with replayed successes', () => {
  it('compares a group without a success with the newest ones of its task', () => {
    const batches = new Batches(withSuccessReplay(centered, 1));
    expect(numbers(batches.next([['a', [1, 0]]]))).toEqual([[0.5, -0.5]]);
    expect(batches.keeps).toEqual(['a1-0']);
    const failed = batches.next([['a', [0, 0, 0]]]);
    // The kept success is a fourth episode of the group.
    expect(numbers(failed)).toEqual([[-0.25, -0.25, -0.25], [0.75]]);
    expect(failed.metrics).toEqual({ own: 1, replayed: 1 });
  });

  it('adds as many as a group lacks', () => {
    const batches = new Batches(withSuccessReplay(centered, 2));
    batches.next([['a', [1, 1, 0]]]);
    expect(numbers(batches.next([['a', [0, 1, 0]]]))).toEqual([[-0.5, 0.5, -0.5], [null], [0.5]]);
    expect(batches.keeps).toEqual(['a1-1', 'a2-1']);
    expect(numbers(batches.next([['a', [0, 0]]]))).toEqual([[-0.5, -0.5], [0.5], [0.5]]);
  });

  it('leaves groups with enough successes, and those of other tasks, as they are', () => {
    const batches = new Batches(withSuccessReplay(centered, 1));
    batches.next([['a', [1, 0]]]);
    const estimate = batches.next([
      ['a', [0, 1]],
      ['b', [0, 0]],
    ]);
    expect(numbers(estimate)).toEqual([[-0.5, 0.5], [0, 0], [null]]);
    expect(estimate.metrics).toEqual({ own: 1, replayed: 0 });
  });

  it('uses each success once in a batch', () => {
    const batches = new Batches(withSuccessReplay(centered, 4));
    batches.next([['a', [1, 0]]]);
    const estimate = batches.next([
      ['a', [0]],
      ['a', [0]],
    ]);
    expect(numbers(estimate)).toEqual([[-0.5], [0], [0.5]]);
  });

  it('keeps the newest successes of each task, and the state of the estimator', () => {
    const batches = new Batches(withSuccessReplay(centered, 2));
    batches.next([
      ['a', [1, 1, 0.5]],
      ['b', [1]],
    ]);
    const { memory } = batches.next([['a', [1]]]);
    expect(batches.keeps).toEqual(['b2-0', 'a1-1', 'a3-0']);
    expect(memory).toMatchObject({ own: 2 });
  });

  it('keeps 512 successes, of the tasks that were played last', () => {
    const batches = new Batches(withSuccessReplay(centered, 2));
    batches.next(Array.from({ length: 256 }, (_, index) => [`task-${index}`, [1, 1]]));
    expect(batches.keeps).toHaveLength(512);
    batches.next([
      ['task-0', [0]],
      ['new', [1, 0]],
    ]);
    expect(batches.keeps).toHaveLength(511);
    expect(batches.keeps.slice(-3)).toEqual(['task-01-0', 'task-01-1', 'new258-0']);
    expect(batches.keeps).not.toContain('task-12-0');
  });

  it('learns from a failed group if it has a success to compare it with', () => {
    const batches = new Batches(withSuccessReplay(centered, 2));
    batches.next([['a', [1, 0]]]);
    expect([batches.hasSignal('a', [0, 0]), batches.hasSignal('b', [0, 0])]).toEqual([true, false]);
    expect([batches.hasSignal('b', [0, 0.5]), batches.hasSignal('a', [1, 1])]).toEqual([true, false]);
  });
});
