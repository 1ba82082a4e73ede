import type { EpisodeGroup } from '@ui-rl/plugin-kit';
import { rejectionSampling, RejectionSamplingOptions } from './rejection-sampling';

/** Episodes of a task; ids are unique within a spec. */
function group(task: string, rewards: readonly number[], batch = 0, isReplayed = false): EpisodeGroup {
  return {
    task: { id: task, description: task },
    ...(isReplayed ? { isReplayed } : {}),
    episodes: rewards.map((reward, index) => ({
      rolloutId: `${task}-${batch}-${index}`,
      reward,
      rewards: {},
      success: reward > 0,
      status: 'completed',
      turns: [{ reward, screenshot: '', logprobs: new Float32Array(2), inputs: {} }],
    })),
  };
}

function sampling(options: Partial<RejectionSamplingOptions>): {
  train: (...groups: EpisodeGroup[]) => { weights: (number | null)[][]; kept: string[]; metrics: object };
  /** Groups that are played for the next batch but not trained on. */
  untrained: EpisodeGroup[];
} {
  const estimator = rejectionSampling.create(Object.assign(new RejectionSamplingOptions(), options), {});
  const known = new Map<string, EpisodeGroup>();
  let memory: unknown;
  let kept: readonly string[] = [];
  const untrained: EpisodeGroup[] = [];
  return {
    untrained,
    train(...fresh) {
      const replayed = kept.map((id): EpisodeGroup => ({ ...known.get(id)!, isReplayed: true }));
      const groups = [...fresh, ...replayed];
      // As loaded from a checkpoint.
      const stored = memory === undefined ? undefined : (JSON.parse(JSON.stringify(memory)) as unknown);
      const estimate = estimator.estimate(groups, stored, untrained.splice(0));
      for (const { task, episodes } of groups) {
        for (const episode of episodes) known.set(episode.rolloutId, { task, episodes: [episode] });
      }
      memory = estimate.memory;
      kept = estimate.keep ?? [];
      return {
        weights: estimate.advantages.map((episodes) => episodes.map((turns) => turns?.[0][0] ?? null)),
        kept: [...kept],
        metrics: estimate.metrics!,
      };
    },
  };
}

it('remembers nothing unless it is asked to', () => {
  const estimator = rejectionSampling.create(new RejectionSamplingOptions(), {});
  const estimate = estimator.estimate([group('a', [1, 0])]);
  expect([estimate.memory, estimate.keep]).toEqual([undefined, undefined]);
});

describe('weights by success rate', () => {
  it('are the share of the episodes of the task that fail, as measured so far', () => {
    const { train } = sampling({ weight_by_success_rate: true });
    const first = train(group('hard', [1, 0, 0, 0]), group('easy', [1, 1, 1, 1]));
    // (failures + 1) / (episodes + 2)
    expect(first.weights[0]).toEqual([Math.fround(4 / 6), null, null, null]);
    expect(first.weights[1]).toEqual(Array(4).fill(Math.fround(1 / 6)));
    expect(first.metrics).toMatchObject({
      chosen: 5,
      weight_mean: expect.closeTo((4 / 6 + 4 / 6) / 5) as number,
    });
    // Earlier measurements have a weight of nine tenths.
    const second = train(group('hard', [1, 1, 1, 1], 1));
    expect(second.weights[0]).toEqual(Array(4).fill(Math.fround((0.9 * 3 + 1) / (0.9 * 4 + 4 + 2))));
  });
});

describe('groups that others take the place of', () => {
  const failed = (task: string, count: number) =>
    Array.from({ length: count }, (_, index) => group(task, [0, 0], 10 + index));

  it('count in how often their task fails, trained or not', () => {
    const { train, untrained } = sampling({ weight_by_success_rate: true });
    untrained.push(...failed('hard', 9), ...failed('easy', 1));
    const { weights, metrics } = train(
      group('hard', [1, 1]),
      ...Array.from({ length: 9 }, (_, batch) => group('easy', [1, 1], batch)),
    );
    expect(weights[0]).toEqual(Array(2).fill(Math.fround((18 + 1) / (20 + 2))));
    expect(weights[1]).toEqual(Array(2).fill(Math.fround((2 + 1) / (20 + 2))));
    expect(metrics).toMatchObject({ chosen: 20 });
    // Also from memory.
    expect(train(group('hard', [1, 1], 1)).weights).toEqual([
      Array(2).fill(Math.fround((0.9 * 18 + 1) / (0.9 * 20 + 2 + 2))),
    ]);
  });

  it('decide which successes are replayed first', () => {
    const { train, untrained } = sampling({ buffer_size: 4, buffer_episodes: 1 });
    train(group('easy', [1, 1]), group('hard', [1, 1]));
    untrained.push(...failed('hard', 3));
    // Of four that were never replayed: not the oldest, but the oldest of the task that fails more often.
    expect(train(group('other', [1, 1], 1)).weights).toEqual([[1, 1], [null], [null], [1], [null]]);
  });
});

describe('the buffer of successes', () => {
  const options = { buffer_size: 3, buffer_episodes: 2 };

  it('gives kept successes to later batches, those that were trained least first', () => {
    const { train } = sampling(options);
    expect(train(group('a', [1, 0])).kept).toEqual(['a-0-0']);
    const second = train(group('b', [1, 1], 1));
    expect(second.weights).toEqual([[1, 1], [1]]);
    expect(second.metrics).toEqual({ chosen: 2, replayed: 1, buffered: 3 });
    // The two of b have not been replayed yet.
    expect(train(group('c', [0, 0], 2)).weights).toEqual([[null, null], [null], [1], [1]]);
    // All have been replayed once: the oldest of the task that fails most, and the next.
    const fourth = train(group('c', [0, 0], 3));
    expect(fourth.weights).toEqual([[null, null], [1], [1], [null]]);
    expect(fourth.metrics).toEqual({ chosen: 0, replayed: 2, buffered: 3 });
  });

  it('is bounded: the oldest goes of the task that has the most', () => {
    const { train } = sampling(options);
    train(group('rare', [1, 0]));
    expect(train(group('common', [1, 1, 1], 1)).kept).toEqual(['rare-0-0', 'common-1-1', 'common-1-2']);
    expect(train(group('common', [1, 1], 2)).kept).toEqual(['rare-0-0', 'common-2-0', 'common-2-1']);
  });

  it('counts a kept success once in the rate of its task', () => {
    const { train } = sampling({ ...options, weight_by_success_rate: true });
    train(group('a', [1, 0]));
    const { weights } = train(group('b', [1, 0], 1));
    expect(weights[1]).toEqual([Math.fround(2 / 4)]);
  });

  it('changes nothing in what it was given: a batch that was refused may come again', () => {
    const estimator = rejectionSampling.create(Object.assign(new RejectionSamplingOptions(), options), {});
    const { memory } = estimator.estimate([group('a', [1])]);
    const before = JSON.stringify(memory);
    const again = () => estimator.estimate([group('b', [1], 1), group('a', [1], 0, true)], memory);
    expect(again()).toEqual(again());
    expect(JSON.stringify(memory)).toBe(before);
  });
});

it('refuses an option that would have no effect', () => {
  const refused = (changes: Partial<RejectionSamplingOptions>) =>
    rejectionSampling.conflicts!(Object.assign(new RejectionSamplingOptions(), changes), {});
  expect(refused({ buffer_episodes: 4 })).toEqual([
    'buffer_episodes would have no effect: it needs a buffer_size above 0',
  ]);
  expect(refused({ buffer_episodes: 4, buffer_size: 10 })).toEqual([]);
});
