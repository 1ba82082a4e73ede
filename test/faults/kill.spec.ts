import { eventually } from '@ui-rl/testkit';
import { type Database } from '@ui-rl/records';
import {
  firstTries,
  miscounted,
  mistrained,
  type RecordedEpisode,
  recordedEpisodes,
} from '../e2e/support/accounting';
import { type ServiceName, TestFleet } from '../e2e/support/fleet';
import type { RunLog } from '../e2e/support/run-log';

const SIZE = { evaluated: 3, groups: 6, groupSize: 3 };
const TRAINING = { deterministic: true, seed: 5, groups_per_batch: 2, max_steps: 3 };

let fleet: TestFleet;
/** A run that nobody disturbed, and one with everything killed once at least. */
let calm: RunLog;
let torn: RunLog;
const killed: string[] = [];
let database: Database;
let episodes: RecordedEpisode[];

beforeAll(async () => {
  fleet = await TestFleet.start({ database: 'postgres' });
  calm = await begin('calm');
  await fleet.completes(calm);
  torn = await begin('torn');
  await tear();
  await fleet.completes(torn, 200_000);
  database = await fleet.openDatabase();
  episodes = await recordedEpisodes(database, 'torn');
}, 500_000);

afterAll(async () => {
  await database?.close();
  await calm?.stop();
  await torn?.stop();
  await fleet?.stop();
}, 60_000);

function begin(runId: string): Promise<RunLog> {
  return fleet.createRun(runId, {
    training: TRAINING,
    rollout: { group_size: SIZE.groupSize, max_turns: 4 },
  });
}

async function kill(name: ServiceName): Promise<void> {
  await fleet.kill(name);
  killed.push(name);
}

/** Kills everything, each in the middle of what it does. */
async function tear(): Promise<void> {
  const started = () => torn.events('rollout_started').length;
  await eventually('the baseline', () => started() >= 1, 60_000, 5);
  await kill('env');
  await kill('evaluator');
  await torn.begins(2);
  await kill('actor');
  await kill('monitor');
  await eventually('an episode that waits for its batch', () => trainEpisodes() >= 4, 90_000, 5);
  await kill('learner');
  await eventually('a step', () => torn.steps.length >= 1, 90_000, 5);
  await kill('task-loader');
  await torn.begins(SIZE.groupSize * 2 + 2);
  await fleet.nats.restart(500);
  killed.push('nats-server');
  await fleet.reaches('torn', 'final_eval', 120_000);
  await kill('learner');
}

function trainEpisodes(): number {
  return torn.trajectories.filter(({ request }) => request.purpose === 'train').length;
}

it('goes on to the end, whatever was killed', () => {
  expect(killed.toSorted()).toEqual(
    ['actor', 'env', 'evaluator', 'learner', 'learner', 'monitor', 'nats-server', 'task-loader'].toSorted(),
  );
  expect(torn.events('phase').map(({ phase }) => phase)).toEqual([
    'baseline',
    'training',
    'final_eval',
    'finished',
  ]);
  const stages = torn
    .events('evaluation')
    .map(({ stage, episodes: count, invalid }) => [stage, count, invalid]);
  expect(stages).toEqual([
    ['baseline', SIZE.evaluated, 0],
    ['final', SIZE.evaluated, 0],
  ]);
});

it('counts every episode exactly once in the database', () => {
  expect(miscounted(episodes, firstTries('torn', SIZE))).toEqual([]);
  const published = torn.trajectories.map(({ request }) => request.rolloutId);
  expect(episodes.map(({ id }) => id).toSorted()).toEqual(published.toSorted());
});

it('trains every valid episode exactly once', () => {
  expect(torn.steps).toHaveLength(TRAINING.max_steps);
  expect(mistrained(episodes, torn.steps)).toEqual([]);
});

it('learns the same as a run that nobody disturbed', () => {
  const rewards = (log: RunLog) =>
    log.steps.map(({ step, metrics }) => [step, metrics['env/all/reward/total'], metrics['optim/loss']]);
  expect(rewards(torn)).toEqual(rewards(calm));
  const digests = (log: RunLog) =>
    log.events('checkpoint').map(({ step, adapterDigest }) => [step, adapterDigest]);
  expect(digests(torn)).toEqual(digests(calm));
  expect(new Set(digests(torn).map(([, digest]) => digest)).size).toBeGreaterThan(2);
});

it('leaves a run that can be told from the database alone', async () => {
  const steps = await database.dataSource.query<{ step: number; trained: number }[]>(
    `SELECT step, cardinality(rollout_ids)::int AS trained FROM steps WHERE run_id = 'torn' ORDER BY step`,
  );
  expect(steps).toEqual(
    [1, 2, 3].map((step) => ({ step, trained: TRAINING.groups_per_batch * SIZE.groupSize })),
  );
});

it('ends no service that was not killed', () => {
  expect(fleet.unexpectedEnds).toEqual([]);
});
