import { setImmediate } from 'node:timers/promises';
import type { Trajectory } from '@ui-rl/contracts';
import { makeRollout, makeTurn } from '@ui-rl/testkit';
import { planBatch } from './batch-planner';
import { GroupBuffer, unsolicitedRequest, type AddResult, type GroupBufferOptions } from './groups';
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

function bufferOf(changes: Partial<GroupBufferOptions> = {}): GroupBuffer {
  return new GroupBuffer({ maxAttempts: 2, isSettled: () => false, isHopeless: () => false, ...changes });
}

function bufferWith(...trajectories: Trajectory[]): GroupBuffer {
  const buffer = bufferOf();
  for (const each of trajectories) buffer.add(each);
  return buffer;
}

/** Ids of the episodes to play again. */
function refillsOf(added: AddResult): string[] {
  return added.kind === 'waiting' ? added.refills.map(({ request }) => request.rolloutId) : [];
}

async function isSettled(added: AddResult): Promise<boolean> {
  if (added.kind === 'redundant') return true;
  return Promise.race([added.settled.then(() => true), setImmediate(false)]);
}

const plan = {
  groupsPerBatch: 1,
  inOrder: false,
  maxReplacedGroups: 0,
  hasLearningSignal: (group: { rewards: number[] }) => new Set(group.rewards).size > 1,
  bound: { step: 0, maxStepsOffPolicy: 0 },
};

describe('groups', () => {
  it('are complete when every place is taken, in any order', () => {
    const buffer = bufferWith(trajectory(0, 1, 5));
    expect(buffer.complete()).toEqual([]);
    buffer.add(trajectory(0, 0, 3));
    expect(buffer.complete().map((group) => group.rewards)).toEqual([[3, 5]]);
  });

  it('keep a message that comes twice waiting with the first, and need it once', async () => {
    const buffer = bufferWith(trajectory(0, 0));
    const again = buffer.add(trajectory(0, 0));
    expect(again.kind).toBe('waiting');
    expect(buffer.complete()).toEqual([]);
    buffer.add(trajectory(0, 1));
    buffer.settle(buffer.complete());
    if (again.kind === 'waiting') await again.settled;
    expect(buffer.complete()).toEqual([]);
  });

  it('play an invalid episode again under a new id, but not for ever', () => {
    const buffer = bufferWith(trajectory(0, 0));
    const first = buffer.add(trajectory(0, 1), 'crashed');
    expect(refillsOf(first)).toEqual(['g0-r1-a1']);
    // Its message is redelivered, as after a lost acknowledgement.
    expect(refillsOf(buffer.add(trajectory(0, 1), 'crashed'))).toEqual(['g0-r1-a1']);
    expect(refillsOf(buffer.add(trajectory(0, 1, 0, 1), 'crashed'))).toEqual([]);
    const [group] = buffer.complete();
    expect(group.trajectories).toHaveLength(1);
    expect(group.invalid).toBe(2);
  });

  it('wait until every member was tried before one is played again, while nothing counts', async () => {
    const buffer = bufferOf();
    const first = buffer.add(trajectory(0, 0), 'no browser starts');
    expect([refillsOf(first), await isSettled(first)]).toEqual([[], false]);
    const second = buffer.add(trajectory(0, 1), 'no browser starts');
    expect(refillsOf(second)).toEqual(['g0-r0-a1', 'g0-r1-a1']);
    if (second.kind === 'waiting') for (const refill of second.refills) refill.published();
    expect([await isSettled(first), await isSettled(second)]).toEqual([true, true]);
  });

  it('have what waits played again as soon as an episode counts', () => {
    const buffer = bufferOf();
    buffer.add(trajectory(0, 0), 'crashed');
    expect(refillsOf(buffer.add(trajectory(0, 1)))).toEqual(['g0-r0-a1']);
  });

  it('are given up once every member has failed, where other tasks are played', () => {
    const buffer = bufferOf({ maxAttempts: 3, isHopeless: () => true });
    buffer.add(trajectory(0, 0), 'no such page');
    expect(refillsOf(buffer.add(trajectory(0, 1), 'no such page'))).toEqual([]);
    expect(planBatch(buffer, new IndexSet(), plan)).toMatchObject({
      failed: [{ index: 0, invalid: 2, problem: 'no such page' }],
    });
  });

  it('take a later attempt in place of one that waits, and not the other way round', async () => {
    const buffer = bufferOf({ maxAttempts: 3 });
    const waiting = buffer.add(trajectory(0, 0), 'crashed');
    buffer.add(trajectory(0, 0, 0, 1), 'crashed');
    expect(await isSettled(waiting)).toBe(true);
    expect(buffer.add(trajectory(0, 0), 'crashed').kind).toBe('redundant');
    expect(buffer.missing(0, 2)).toEqual([1]);
  });

  it('train those with a signal only, where others were to be replaced, and one where there is none', () => {
    type Planned = { kept: number[]; trained: number[]; untrained: number[] };
    const planned = (...rewards: [number, number][]): Planned => {
      const buffer = bufferWith(
        ...rewards.flatMap(([first, second], group) => [
          trajectory(group, 0, first),
          trajectory(group, 1, second),
        ]),
      );
      const options = { ...plan, inOrder: true, groupsPerBatch: 2, maxReplacedGroups: 1 };
      const { kept, trained, untrained } = planBatch(buffer, new IndexSet(), options);
      const [a, b, c] = [kept, trained, untrained].map((groups) => groups.map(({ index }) => index));
      return { kept: a, trained: b, untrained: c };
    };
    expect(planned([1, 1], [0, 1], [1, 1])).toEqual({ kept: [1, 2], trained: [1], untrained: [0, 2] });
    expect(planned([1, 1], [1, 1], [0, 0])).toEqual({ kept: [1, 2], trained: [1], untrained: [0, 2] });
    expect(planned([1, 1], [0, 1], [1, 0])).toEqual({ kept: [1, 2], trained: [1, 2], untrained: [0] });
    const buffer = bufferWith(trajectory(0, 0, 1), trajectory(0, 1, 1));
    expect(planBatch(buffer, new IndexSet(), plan).trained).toHaveLength(1);
  });

  it('become dead letters where they cannot be trained', async () => {
    const buffer = bufferWith(trajectory(0, 0));
    const added = buffer.add(trajectory(0, 1));
    buffer.refuse(buffer.complete(), new Error('no gradient'));
    await expect(added.kind === 'waiting' ? added.settled : undefined).rejects.toThrow('no gradient');
    expect(buffer.complete()).toEqual([]);
  });

  it('take the first valid attempt and find the later one superfluous', () => {
    const buffer = bufferWith(trajectory(0, 0, 1, 1));
    expect(buffer.add(trajectory(0, 0, 9)).kind).toBe('redundant');
  });

  it('find what belongs to a settled group superfluous', () => {
    const buffer = bufferOf({ isSettled: (index) => index === 3 });
    expect(buffer.add(trajectory(3, 0)).kind).toBe('redundant');
  });

  it('are all let go of at the end of the run, and what comes later is superfluous', async () => {
    const buffer = bufferOf();
    const waiting = buffer.add(trajectory(0, 0));
    buffer.close();
    if (waiting.kind === 'waiting') await waiting.settled;
    expect(buffer.add(trajectory(0, 1)).kind).toBe('redundant');
    expect(buffer.complete()).toEqual([]);
  });
});

describe('the batch', () => {
  const none = new IndexSet();

  it('takes groups in order of completion', () => {
    const buffer = bufferWith(trajectory(1, 0), trajectory(1, 1, 1), trajectory(0, 0), trajectory(0, 1, 1));
    expect(planBatch(buffer, none, plan).kept.map(({ index }) => index)).toEqual([1]);
  });

  it('takes the oldest groups first, and finds those that are too old', () => {
    const buffer = bufferOf();
    const versions = [5, 4, 2, 3];
    versions.forEach((policyVersion, index) => {
      for (const member of [0, 1]) {
        const turns = [makeTurn({ policyVersion })];
        buffer.add(Object.assign(trajectory(index, member, member), { turns }));
      }
    });
    const bound = { step: 5, maxStepsOffPolicy: 2 };
    const chosen = planBatch(buffer, none, { ...plan, groupsPerBatch: 2, bound });
    expect(chosen.kept.map(({ index }) => index)).toEqual([3, 1]);
    expect(chosen.tooOld.map(({ index }) => index)).toEqual([2]);
  });

  it('takes groups by index where order matters, and waits for the first missing one', () => {
    const inOrder = { ...plan, inOrder: true };
    const buffer = bufferWith(trajectory(1, 0), trajectory(1, 1, 1), trajectory(0, 0));
    expect(planBatch(buffer, none, inOrder).ready).toBe(false);
    buffer.add(trajectory(0, 1, 1));
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
    const buffer = bufferOf({ maxAttempts: 1 });
    buffer.add(trajectory(0, 0), 'crashed');
    buffer.add(trajectory(0, 1), 'crashed');
    expect(planBatch(buffer, none, plan)).toMatchObject({
      ready: false,
      replaced: [],
      failed: [{ index: 0 }],
    });
    buffer.settle(buffer.complete());
    buffer.add(trajectory(1, 0));
    buffer.add(trajectory(1, 1, 1));
    expect(planBatch(buffer, IndexSet.parse('0'), { ...plan, inOrder: true }).kept).toMatchObject([
      { index: 1 },
    ]);
    expect(planBatch(buffer, IndexSet.parse('1'), { ...plan, inOrder: true }).kept).toEqual([]);
  });
});

describe('an index set', () => {
  it('keeps ranges, with any order of additions', () => {
    const set = new IndexSet();
    for (const index of [0, 2, 1, 5, 7, 6, 2]) set.add(index);
    expect(set.toString()).toBe('0-2,5-7');
    expect(set.size).toBe(6);
    expect(set.firstMissing).toBe(3);
    expect(IndexSet.parse(set.toString()).has(6)).toBe(true);
    expect([...set]).toEqual([0, 1, 2, 5, 6, 7]);
    expect(IndexSet.parse('').firstMissing).toBe(0);
    expect(() => IndexSet.parse('1-x')).toThrow('"1-x" is not a range');
  });
});

describe('unrequested episodes', () => {
  const found = (changes: Parameters<typeof makeRollout>[0]) =>
    unsolicitedRequest(makeRollout({ groupIndex: 2, indexInGroup: 1, groupSize: 2, ...changes }), {
      runId: 'run',
      groupSize: 2,
      groups: 3,
    });

  it('differ from those of the existing groups', () => {
    expect(found({})).toBeUndefined();
    expect(found({ groupIndex: 3 })).toBe('it is of group 3, but only 3 were requested so far (0 to 2)');
    expect(found({ groupSize: 4 })).toContain('a group of 4');
    expect(found({ indexInGroup: 2 })).toContain('number 2');
    expect(found({ runId: 'other' })).toContain('run "other"');
    expect(found({ purpose: 'eval' })).toContain('"eval"');
  });
});
