import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestFleet } from '../e2e/support/fleet';

/**
 * Never scores one of two tasks: its episodes fail on any worker. It waits forever without CPU load; busy loops are
 * tested in the specs of isolation.
 */
const GRUMPY = `const asleep = new Int32Array(new SharedArrayBuffer(4));
module.exports.default = {
  kind: 'reward',
  name: 'grumpy',
  create: () => ({
    score({ task, turns }) {
      if (task.id === 'train_02_enable_wifi') Atomics.wait(asleep, 0, 0);
      return 1 / turns.length;
    },
  }),
};`;

const STEPS = 5;
const GROUP_SIZE = 2;
const GROUPS_PER_BATCH = 2;

let folder: string;
let fleet: TestFleet;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'grumpy-'));
  writeFileSync(join(folder, 'grumpy.js'), GRUMPY);
  fleet = await TestFleet.start({ plugins: [join(folder, 'grumpy.js')] });
}, 60_000);

afterAll(async () => {
  await fleet?.stop();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

it('continues to the end beside a task whose episodes always fail, and takes it out by name', async () => {
  const log = await fleet.createRun('grumpy', {
    tasks: { source_type: 'demo_training', limit: 2 },
    rewards: ['grumpy', 'footprint'],
    rollout: { group_size: GROUP_SIZE, turn_timeout_ms: 4_000 },
    training: { groups_per_batch: GROUPS_PER_BATCH, max_steps: STEPS },
    evaluation: { baseline: false },
  });
  await fleet.completes(log, 180_000);
  await log.stop();
  expect(log.steps.map(({ step }) => step)).toEqual(Array.from({ length: STEPS }, (_, index) => index + 1));
  const failed = log.trajectories.filter(({ status }) => status === 'invalid');
  expect(failed.length).toBeGreaterThan(0);
  const reasons = failed.map(({ invalidReason }) => invalidReason);
  expect(reasons).toContain('deadline: reward "grumpy" took longer than 4000 ms');
  // The thread that hung may have been serving another episode.
  for (const reason of reasons) expect(reason).toMatch(/reward "grumpy"/);
  expect(log.events('warning').filter(({ code }) => code === 'task_taken_out')).toMatchObject([
    { message: expect.stringContaining('task "train_02_enable_wifi" is not trained any more') },
  ]);
  expect(fleet.unexpectedEnds).toEqual([]);
}, 300_000);

it('continues to the end, each episode trained once, when the broker comes back on an older copy of its store', async () => {
  const log = await fleet.createRun('back', {
    training: { deterministic: true, seed: 5, groups_per_batch: GROUPS_PER_BATCH, max_steps: STEPS },
    rollout: { group_size: GROUP_SIZE, max_turns: 3 },
    evaluation: { baseline: false },
  });
  await fleet.until('a step', () => log.steps.length >= 1, 120_000);
  fleet.nats.saveStore();
  await fleet.until('another one', () => log.steps.length >= 2, 60_000);
  // Otherwise a step that is stored but not yet delivered when the broker ends would be lost to everyone.
  fleet.suspend('learner');
  await log.catchesUp();
  await fleet.nats.kill();
  // Only the logs know what was published since the copy.
  const before = log.steps;
  fleet.nats.restoreStore();
  await fleet.nats.launch();
  fleet.wake('learner');
  await fleet.reaches('back', 'finished', 120_000);
  await log.ends();
  await log.stop();
  expect(fleet.unexpectedEnds).toEqual([]);
  expect(await fleet.bus.runs.policy('back')).toMatchObject({ version: STEPS });
  const steps = new Map([...before, ...log.steps].map(({ step, rolloutIds }) => [step, rolloutIds]));
  expect(new Set(steps.keys())).toEqual(new Set([1, 2, 3, 4, 5]));
  const trained = [...steps.values()].flat();
  expect(trained).toHaveLength(STEPS * GROUPS_PER_BATCH * GROUP_SIZE);
  expect(new Set(trained).size).toBe(trained.length);
}, 400_000);
