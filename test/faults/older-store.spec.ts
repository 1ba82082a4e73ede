import { TestFleet } from '../e2e/support/fleet';

const SIZE = { groups: 10, groupSize: 2 };
const TRAINING = { deterministic: true, seed: 5, groups_per_batch: 2, max_steps: 5 };

let fleet: TestFleet;

afterAll(async () => {
  await fleet?.stop();
}, 60_000);

it('a run goes on to its end, each episode trained once, where the broker comes back on an older copy of its store', async () => {
  fleet = await TestFleet.start();
  const rollout = { group_size: SIZE.groupSize, max_turns: 3 };
  const log = await fleet.createRun('back', { training: TRAINING, rollout });
  await fleet.until('a step', () => log.steps.length >= 1, 120_000);
  fleet.nats.saveStore();
  await fleet.until('another one', () => log.steps.length >= 2, 60_000);
  await fleet.nats.kill();
  // Of what was published since the copy, these alone know.
  const before = log.steps;
  fleet.nats.restoreStore();
  await fleet.nats.launch();
  await fleet.reaches('back', 'finished', 120_000);
  await log.ends();
  await log.stop();
  expect(fleet.unexpectedEnds).toEqual([]);
  expect(await fleet.bus.runs.policy('back')).toMatchObject({ version: TRAINING.max_steps });
  const steps = new Map([...before, ...log.steps].map(({ step, rolloutIds }) => [step, rolloutIds]));
  expect(new Set(steps.keys())).toEqual(new Set([1, 2, 3, 4, 5]));
  const trained = [...steps.values()].flat();
  expect(trained).toHaveLength(SIZE.groups * SIZE.groupSize);
  expect(new Set(trained).size).toBe(trained.length);
}, 400_000);
