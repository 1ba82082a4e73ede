import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestFleet } from '../e2e/support/fleet';
import type { RunLog } from '../e2e/support/run-log';

/**
 * Never says what one of two tasks is worth: its episodes fail, whoever plays them. It waits for ever, which takes no processor; what
 * never ends by working is in the specs of isolation.
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

let folder: string;
let fleet: TestFleet;
let log: RunLog;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'grumpy-'));
  writeFileSync(join(folder, 'grumpy.js'), GRUMPY);
  fleet = await TestFleet.start({ plugins: [join(folder, 'grumpy.js')] });
  log = await fleet.createRun('grumpy', {
    tasks: { source_type: 'demo_training', limit: 2 },
    rewards: ['grumpy', 'footprint'],
    rollout: { group_size: 2, turn_timeout_ms: 4_000 },
    training: { groups_per_batch: 2, max_steps: STEPS },
    evaluation: { baseline: false },
  });
  await fleet.completes(log, 180_000);
}, 300_000);

afterAll(async () => {
  await log?.stop();
  await fleet?.stop();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

it('goes on to the end beside a task whose episodes always fail, and takes it out by name', () => {
  expect(log.steps.map(({ step }) => step)).toEqual(Array.from({ length: STEPS }, (_, index) => index + 1));
  const failed = log.trajectories.filter(({ status }) => status === 'invalid');
  expect(failed.length).toBeGreaterThan(0);
  const reasons = failed.map(({ invalidReason }) => invalidReason);
  expect(reasons).toContain('deadline: reward "grumpy" took longer than 4000 ms');
  // Another episode's call may have been in the thread that hung.
  for (const reason of reasons) expect(reason).toMatch(/reward "grumpy"/);
  expect(log.events('warning').filter(({ code }) => code === 'task_taken_out')).toMatchObject([
    { message: expect.stringContaining('task "train_02_enable_wifi" is not trained any more') },
  ]);
  expect(fleet.unexpectedEnds).toEqual([]);
});
