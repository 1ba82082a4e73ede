import { STREAMS, subjects, type RolloutRequest } from '@ui-rl/contracts';
import { eventually, makeTask, makeTurn } from '@ui-rl/testkit';
import { LearnerWorld } from '../../test/learner-world';

let world: LearnerWorld;

beforeAll(async () => {
  world = await LearnerWorld.open();
});
afterEach(() => world.quit());
afterAll(() => world.close());

it('has invalid episodes played again, a bounded number of times, and keeps them out of the batch', async () => {
  const runId = await world.startRun({ 'training.groups_per_batch': 1 });
  const invalid = { status: 'invalid' as const, invalidReason: 'the browser crashed', turns: [] };
  await world.play(runId, { group: 0, member: 0, reward: 1 });
  await world.play(runId, { group: 0, member: 1, reward: 0, changes: invalid });
  const refills = async () =>
    world.stored<RolloutRequest>(STREAMS.rollouts, subjects.rollout(runId, 'train'), `actors-${runId}`);
  const [refill] = await refills();
  expect(refill).toMatchObject({ rolloutId: `${runId}-g0-r1-a1`, attempt: 1, indexInGroup: 1 });
  await world.play(runId, { group: 0, member: 1, reward: 0, attempt: 1 });
  await world.reached(runId, 1);
  const [step] = await world.events(runId, 'train_step');
  expect(step.rolloutIds).toEqual([`${runId}-g0-r0`, `${runId}-g0-r1-a1`]);
  expect(step.metrics['env/all/invalid_share']).toBeCloseTo(1 / 3, 6);
  // Invalid twice: the slot stays empty.
  await world.play(runId, { group: 1, member: 0, reward: 1 });
  await world.play(runId, { group: 1, member: 1, reward: 0, changes: invalid });
  await world.play(runId, { group: 1, member: 1, reward: 0, attempt: 1, changes: invalid });
  await world.reached(runId, 2);
  expect((await world.events(runId, 'train_step'))[1].rolloutIds).toEqual([`${runId}-g1-r0`]);
});

it('gives up groups without a valid episode, as many as there are, also over the end of its process', async () => {
  const options = { 'training.groups_per_batch': 1, 'rollout.max_attempts': 1 };
  const runId = await world.startRun(options);
  const invalid = { status: 'invalid' as const, invalidReason: 'no browser starts', turns: [] };
  const fail = async (group: number): Promise<void> => {
    for (const member of [0, 1]) await world.play(runId, { group, member, reward: 0, changes: invalid });
    await eventually(`another group than ${group}`, async () => {
      return (await world.bus.runs.policy(runId))?.groupsRequested === group + 2;
    });
  };
  // One group can wait for its batch at a time.
  for (const group of [0, 1]) await fail(group);
  await world.quit();
  await world.begin(runId, world.optionsWith(options));
  await fail(2);
  expect(await world.bus.runs.policy(runId)).toMatchObject({ version: 0, failedGroups: '0-2' });
  await world.playGroup(runId, 3, [1, 0]);
  await world.reached(runId, 1);
  expect(await world.bus.runs.policy(runId)).toMatchObject({ groupsRequested: 5, failedGroups: '' });
  expect((await world.events(runId, 'train_step'))[0].rolloutIds).toEqual([
    `${runId}-g3-r0`,
    `${runId}-g3-r1`,
  ]);
});

it('refuses what was sampled by weights it never had, and says so', async () => {
  const runId = await world.startRun({ 'training.groups_per_batch': 1 });
  const forged = [makeTurn({ adapterDigest: 'f'.repeat(64) })];
  await world.play(runId, { group: 0, member: 0, reward: 1, changes: { turns: forged } });
  await eventually('the warning', async () => (await world.events(runId, 'warning')).length === 1);
  const [warning] = await world.events(runId, 'warning');
  expect(warning).toMatchObject({ code: 'unknown_adapter', message: expect.stringContaining('ffff') });
  await world.play(runId, { group: 0, member: 0, reward: 1, attempt: 1 });
  await world.play(runId, { group: 0, member: 1, reward: 0 });
  await world.reached(runId, 1);
  expect((await world.events(runId, 'train_step'))[0].rolloutIds).toEqual([
    `${runId}-g0-r0-a1`,
    `${runId}-g0-r1`,
  ]);
});

it('makes dead letters of unrequested episodes, and trains the others', async () => {
  const runId = await world.startRun({ 'training.groups_per_batch': 1 });
  // As many as it handles concurrently: they must not block the others.
  await world.playGroup(runId, 5, [1, 0]);
  await world.playGroup(runId, 0, [1, 0]);
  await world.reached(runId, 1);
  const told = await world.events(runId, 'dead_letter');
  expect(told.map(({ service, subject }) => [service, subject])).toEqual([
    ['learner', subjects.trajectory(runId, 'train')],
    ['learner', subjects.trajectory(runId, 'train')],
  ]);
  expect(told[0].reason).toContain('group 5, but only 1 were requested');
  expect((await world.events(runId, 'train_step'))[0].rolloutIds).toEqual([
    `${runId}-g0-r0`,
    `${runId}-g0-r1`,
  ]);
});

it('takes no episode for one of a group that is of another task', async () => {
  const runId = await world.startRun({ 'training.groups_per_batch': 1 });
  const easier = { ...makeTask(), description: 'Do nothing' };
  await world.play(runId, { group: 0, member: 0, reward: 0 });
  await world.play(runId, { group: 0, member: 1, reward: 1, task: easier });
  await eventually('the refusal', async () => (await world.events(runId, 'dead_letter')).length === 1);
  const [{ reason }] = await world.events(runId, 'dead_letter');
  expect(reason).toMatch(/this episode was not requested: its task ".*" is not the task ".*" of its group/);
  await world.play(runId, { group: 0, member: 1, reward: 1, attempt: 1 });
  await world.reached(runId, 1);
  expect((await world.events(runId, 'train_step'))[0].rolloutIds).toEqual([
    `${runId}-g0-r0`,
    `${runId}-g0-r1-a1`,
  ]);
});
