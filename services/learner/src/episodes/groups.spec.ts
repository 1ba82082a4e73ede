import type { Trajectory } from '@ui-rl/contracts';
import { makeRollout } from '@ui-rl/testkit';
import { planBatch } from './batch-planner';
import { GroupBuffer, unsolicitedRequest } from './groups';
import { IndexSet } from './index-set';

function trajectory(groupIndex: number, indexInGroup: number, reward = 0, attempt = 0): Trajectory {
  const suffix = attempt === 0 ? '' : `-a${attempt}`;
  const request = {
    rolloutId: `g${groupIndex}-r${indexInGroup}${suffix}`,
    runId: 'run',
    groupId: `g${groupIndex}`,
    groupIndex,
    indexInGroup,
    groupSize: 2,
    attempt,
  };
  return { request, reward, status: 'completed', turns: [] } as unknown as Trajectory;
}

function bufferWith(...trajectories: Trajectory[]): GroupBuffer {
  const buffer = new GroupBuffer({ maxAttempts: 2, isSettled: () => false });
  for (const each of trajectories) buffer.add(each, true);
  return buffer;
}

const plan = {
  groupsPerBatch: 1,
  inOrder: false,
  maxReplacedGroups: 0,
  hasLearningSignal: (group: { rewards: number[] }) => new Set(group.rewards).size > 1,
};

describe('groups', () => {
  it('are complete when every place is taken, whatever the order', () => {
    const buffer = bufferWith(trajectory(0, 1, 5));
    expect(buffer.complete()).toEqual([]);
    buffer.add(trajectory(0, 0, 3), true);
    expect(buffer.complete().map((group) => group.rewards)).toEqual([[3, 5]]);
  });

  it('keep a message that comes twice waiting with the first, and need it once', async () => {
    const buffer = bufferWith(trajectory(0, 0));
    const again = buffer.add(trajectory(0, 0), true);
    expect(again.kind).toBe('waiting');
    expect(buffer.complete()).toEqual([]);
    buffer.add(trajectory(0, 1), true);
    buffer.settle(buffer.complete());
    if (again.kind === 'waiting') await again.settled;
    expect(buffer.complete()).toEqual([]);
  });

  it('play an invalid episode again under a new id, but not for ever', () => {
    const buffer = bufferWith(trajectory(0, 0));
    const first = buffer.add(trajectory(0, 1), false);
    expect(first).toMatchObject({ kind: 'refill', request: { rolloutId: 'g0-r1-a1', attempt: 1 } });
    // Its message comes again, as after a lost acknowledgement.
    expect(buffer.add(trajectory(0, 1), false)).toEqual(first);
    expect(buffer.add(trajectory(0, 1, 0, 1), false).kind).toBe('waiting');
    const [group] = buffer.complete();
    expect(group.trajectories).toHaveLength(1);
    expect(group.invalid).toBe(2);
  });

  it('take the first valid attempt and find the later one superfluous', () => {
    const buffer = bufferWith(trajectory(0, 0, 1, 1));
    expect(buffer.add(trajectory(0, 0, 9), true).kind).toBe('redundant');
  });

  it('find what belongs to a settled group superfluous', () => {
    const buffer = new GroupBuffer({ maxAttempts: 2, isSettled: (index) => index === 3 });
    expect(buffer.add(trajectory(3, 0), true).kind).toBe('redundant');
  });

  it('are all let go of at the end of the run, and what comes later is superfluous', async () => {
    const buffer = new GroupBuffer({ maxAttempts: 2, isSettled: () => false });
    const waiting = buffer.add(trajectory(0, 0), true);
    buffer.close();
    if (waiting.kind === 'waiting') await waiting.settled;
    expect(buffer.add(trajectory(0, 1), true).kind).toBe('redundant');
    expect(buffer.complete()).toEqual([]);
  });
});

describe('the batch', () => {
  const none = new IndexSet();

  it('takes groups in order of completion', () => {
    const buffer = bufferWith(trajectory(1, 0), trajectory(1, 1, 1), trajectory(0, 0), trajectory(0, 1, 1));
    expect(planBatch(buffer, none, plan).kept.map(({ index }) => index)).toEqual([1]);
  });

  it('takes groups by index where order matters, and waits for the first missing one', () => {
    const inOrder = { ...plan, inOrder: true };
    const buffer = bufferWith(trajectory(1, 0), trajectory(1, 1, 1), trajectory(0, 0));
    expect(planBatch(buffer, none, inOrder).ready).toBe(false);
    buffer.add(trajectory(0, 1, 1), true);
    expect(planBatch(buffer, none, inOrder).kept.map(({ index }) => index)).toEqual([0]);
  });

  it('replaces groups without signal up to the limit, then takes them', () => {
    const same = [0, 1, 2].flatMap((index) => [trajectory(index, 0), trajectory(index, 1)]);
    const buffer = bufferWith(...same);
    const chosen = planBatch(buffer, none, { ...plan, maxReplacedGroups: 2 });
    expect(chosen.replaced.map(({ index }) => index)).toEqual([0, 1]);
    expect(chosen.kept.map(({ index }) => index)).toEqual([2]);
  });

  it('leaves out a group of which no episode is valid, and what is settled', () => {
    const buffer = new GroupBuffer({ maxAttempts: 1, isSettled: () => false });
    buffer.add(trajectory(0, 0), false);
    buffer.add(trajectory(0, 1), false);
    expect(planBatch(buffer, none, plan)).toMatchObject({
      ready: false,
      replaced: [],
      failed: [{ index: 0 }],
    });
    buffer.settle(buffer.complete());
    buffer.add(trajectory(1, 0), true);
    buffer.add(trajectory(1, 1, 1), true);
    expect(planBatch(buffer, IndexSet.parse('0'), { ...plan, inOrder: true }).kept).toMatchObject([
      { index: 1 },
    ]);
    expect(planBatch(buffer, IndexSet.parse('1'), { ...plan, inOrder: true }).kept).toEqual([]);
  });
});

describe('an index set', () => {
  it('keeps ranges, whatever the order of additions', () => {
    const set = new IndexSet();
    for (const index of [0, 2, 1, 5, 7, 6, 2]) set.add(index);
    expect(set.toString()).toBe('0-2,5-7');
    expect(set.size).toBe(6);
    expect(set.firstMissing).toBe(3);
    expect(IndexSet.parse(set.toString()).has(6)).toBe(true);
    expect([...set]).toEqual([0, 1, 2, 5, 6, 7]);
    expect(IndexSet.parse('').firstMissing).toBe(0);
    expect(() => IndexSet.parse('1-x')).toThrow('"1-x" is no range');
  });
});

describe('episodes nobody requested', () => {
  const found = (changes: Parameters<typeof makeRollout>[0]) =>
    unsolicitedRequest(makeRollout({ groupIndex: 2, indexInGroup: 1, groupSize: 2, ...changes }), {
      runId: 'run',
      groupSize: 2,
      groups: 3,
    });

  it('are told from those of the groups there are', () => {
    expect(found({})).toBeUndefined();
    expect(found({ groupIndex: 3 })).toBe('it is of group 3, but only 3 were requested so far (0 to 2)');
    expect(found({ groupSize: 4 })).toContain('a group of 4');
    expect(found({ indexInGroup: 2 })).toContain('number 2');
    expect(found({ runId: 'other' })).toContain('run "other"');
    expect(found({ purpose: 'eval' })).toContain('"eval"');
  });
});
