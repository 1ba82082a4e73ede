import type { PolicyActReply, Turn } from '@ui-rl/contracts';
import { eventually, makeTask } from '@ui-rl/testkit';
import { LearnerWorld, type Changes } from '../../test/learner-world';
import { WITH_CRITIC } from '../../test/learning-options';

let world: LearnerWorld;

beforeAll(async () => {
  world = await LearnerWorld.open();
});
afterEach(() => world.quit());
afterAll(() => world.close());

const broken = (invalidReason: string) => ({
  changes: { status: 'invalid' as const, invalidReason, turns: [] },
});

/** Underflows to 0 in float32: the gradient is not finite. */
const poisoned = {
  turn: ({ logprobs }: PolicyActReply): Partial<Turn> => ({ logprobs: logprobs.map(() => -3e38) }),
};

it('takes a task out that keeps failing while others are played, by name, and continues', async () => {
  const options = { 'training.groups_per_batch': 1, 'rollout.max_attempts': 3 };
  const runId = await world.startRun(options);
  const dead = { task: makeTask({ id: 'dead-page' }), ...broken('page_error: no such page') };
  for (const round of [0, 1, 2]) {
    await world.playGroup(runId, 2 * round, [1, 0]);
    await world.reached(runId, round + 1);
    // Every member failed once: no slot is held for further attempts.
    await world.playGroup(runId, 2 * round + 1, [0, 0], dead);
    await world.requested(runId, 2 * round + 3);
  }
  const [warning] = await world.events(runId, 'warning');
  expect(warning).toMatchObject({
    code: 'task_taken_out',
    message:
      'task "dead-page" is not trained any more: it keeps failing while others are played, at last: page_error: no such page',
  });
  expect(await world.bus.runs.policy(runId)).toMatchObject({ takenOut: ['dead-page'] });
  await world.quit();
  await world.begin(runId, world.optionsWith(options));
  await world.playGroup(runId, 6, [1, 0]);
  await world.reached(runId, 4);
  expect(await world.bus.runs.policy(runId)).toMatchObject({ takenOut: ['dead-page'] });
});

it.each<[string, Changes]>([
  ['a policy', {}],
  ['a policy and its critic', WITH_CRITIC],
])(
  'makes dead letters of a batch that has no finite gradient, and continues with the weights of before: %s',
  async (_, changes) => {
    const digests: (string | undefined)[] = [];
    for (const how of [poisoned, broken('no browser')]) {
      const runId = await world.startRun({
        'training.deterministic': true,
        'rollout.max_attempts': 1,
        'training.num_substeps': 2,
        ...changes,
      });
      // The first of two optimizer steps may have been taken when the second fails.
      if (how === poisoned) await world.playGroup(runId, 0, [1, 0]);
      else await world.playGroup(runId, 0, [0, 0], how);
      await world.playGroup(runId, 1, [1, 0], how);
      await world.requested(runId, 4);
      for (const group of [2, 3]) await world.playGroup(runId, group, [1, 0]);
      await world.reached(runId, 1);
      digests.push((await world.bus.runs.policy(runId))?.adapterDigest);
      const letters = await world.events(runId, 'dead_letter');
      const [step] = await world.events(runId, 'train_step');
      expect(step.rolloutIds).toEqual(
        [2, 3].flatMap((group) => [0, 1].map((r) => `${runId}-g${group}-r${r}`)),
      );
      if (how === poisoned) {
        expect(letters.map(({ reason }) => reason)).toEqual(
          Array.from({ length: 4 }, () =>
            expect.stringMatching(/^its batch cannot be trained: the (loss|gradient)/),
          ),
        );
        const warnings = await world.events(runId, 'warning');
        expect(warnings).toMatchObject([
          { code: 'untrainable_batch', message: expect.stringContaining(`${runId}-g1`) },
        ]);
      }
      await world.quit();
    }
    expect(digests[0]).toBe(digests[1]);
  },
);

it('ends a run of which nothing can be trained, with the reason', async () => {
  const runId = await world.startRun({ 'training.groups_per_batch': 1 });
  for (const group of [0, 1, 2]) {
    await world.playGroup(runId, group, [1, 0], poisoned);
    await world.requested(runId, group + 2);
  }
  const state = await eventually('the end', async () => {
    const found = await world.bus.runs.state(runId);
    return found?.phase === 'failed' ? found : null;
  });
  expect(state.reason).toMatch(/^3 batches in a row could not be trained, at last: the (loss|gradient)/);
});

it('has episodes played again that the model cannot read, or whose screenshots are gone', async () => {
  const runId = await world.startRun({ 'training.groups_per_batch': 1 });
  const unreadable: [number, (said: PolicyActReply) => Partial<Turn>, RegExp][] = [
    [0, ({ tokenIds }) => ({ tokenIds: tokenIds.map(() => 1e6) }), /has token 1000000, the model knows 0 to/],
    [
      1,
      () => ({ promptImages: ['f'.repeat(64)] }),
      /its screenshot f{64} is neither in memory nor among the blobs/,
    ],
  ];
  for (const [member, turn] of unreadable) await world.play(runId, { group: 0, member, reward: 1, turn });
  const warnings = await eventually('both warnings', async () => {
    const found = await world.events(runId, 'warning');
    return found.length === 2 ? found : null;
  });
  for (const [index, [, , message]] of unreadable.entries()) {
    expect(warnings[index]).toMatchObject({
      code: 'defective_trajectory',
      message: expect.stringMatching(message),
    });
  }
  for (const [member, reward] of [1, 0].entries()) {
    await world.play(runId, { group: 0, member, reward, attempt: 1 });
  }
  await world.reached(runId, 1);
  expect((await world.events(runId, 'train_step'))[0].rolloutIds).toEqual([
    `${runId}-g0-r0-a1`,
    `${runId}-g0-r1-a1`,
  ]);
});
