import { type Database } from '@ui-rl/records';
import { miscounted, firstAttempts, recordedEpisodes } from '../e2e/support/accounting';
import { TestFleet } from '../e2e/support/fleet';

const SIZE = { evaluated: 3, groups: 8, groupSize: 2 };
const TRAINING = { deterministic: true, seed: 5, groups_per_batch: 2, max_steps: 4 };

let fleet: TestFleet;
let database: Database;

afterAll(async () => {
  await database?.close();
  await fleet?.stop();
}, 60_000);

it('a run goes on to its end, each episode trained once, where the broker comes back on an older copy of its store', async () => {
  fleet = await TestFleet.start();
  const rollout = { group_size: SIZE.groupSize, max_turns: 3 };
  const log = await fleet.createRun('back', { training: TRAINING, rollout });
  await fleet.until('a step', () => log.steps.length >= 1, 120_000);
  fleet.nats.saveStore();
  await fleet.until('another one', () => log.steps.length >= 2, 60_000);
  await fleet.until('episodes of the next', () => log.trajectories.length >= 3 + 4 + 4 + 1, 60_000);
  await log.stop();
  await fleet.nats.kill();
  fleet.nats.restoreStore();
  await fleet.nats.launch();
  await fleet.reaches('back', 'finished', 120_000);
  const done = async () => (await fleet.api<{ phase: string }>('/api/runs/back')).phase === 'finished';
  await fleet.until('its end in the monitor', done, 30_000);
  expect(fleet.unexpectedEnds).toEqual([]);
  database = await fleet.openDatabase();
  expect(miscounted(await recordedEpisodes(database, 'back'), firstAttempts('back', SIZE))).toEqual([]);
  const steps = await database.dataSource.query<{ step: number; rolloutIds: string[] }[]>(
    `SELECT step, rollout_ids AS "rolloutIds" FROM steps WHERE run_id = 'back' ORDER BY step`,
  );
  expect(steps.map(({ step }) => step)).toEqual([1, 2, 3, 4]);
  const trained = steps.flatMap(({ rolloutIds }) => rolloutIds);
  expect(trained).toHaveLength(SIZE.groups * SIZE.groupSize);
  expect(new Set(trained).size).toBe(trained.length);
}, 400_000);
