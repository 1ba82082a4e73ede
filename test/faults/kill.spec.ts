import { type Database } from '@ui-rl/records';
import {
  firstAttempts,
  miscounted,
  mistrained,
  type RecordedEpisode,
  recordedEpisodes,
} from '../e2e/support/accounting';
import { type ServiceName, TestFleet } from '../e2e/support/fleet';
import type { RunLog } from '../e2e/support/run-log';
import { type KillResult, killsOf, RUN, runWithKills, SIZE } from './kills';

const GROUPS = SIZE.steps * SIZE.groupsPerBatch;
const TRAINED_PER_STEP = SIZE.groupsPerBatch * SIZE.groupSize;

/** Kills in this file: at chosen moments, and at random. */
const KILLS = 60;
/** Pause before each random kill, in ms: shorter than most services need to restart. */
const PAUSE_MS = [200, 1_800] as const;

/** Rollout ids by purpose. */
const ROLLOUTS = { baseline: /-baseline-/, train: /-g\d{6}-/, final: /-final-/ };
type Kind = keyof typeof ROLLOUTS;

let fleet: TestFleet;
/** An undisturbed run, and one in which everything is killed at least once. */
let calm: RunLog;
let torn: RunLog;
const killed: string[] = [];
/** Episodes in progress at each kill. */
const inFlight: number[] = [];
/** Runs with random kills. */
const stormy: KillResult[] = [];
let database: Database;
let episodes: RecordedEpisode[];

beforeAll(async () => {
  fleet = await TestFleet.start({ database: 'postgres' });
  calm = await begin('calm');
  await fleet.completes(calm);
  torn = await begin('torn');
  await tear();
  await fleet.completes(torn, 200_000);
  for (let left = KILLS - killed.length; left > 0; left = KILLS - killed.length - killsOf(stormy)) {
    const seed = stormy.length + 1;
    stormy.push(await runWithKills(fleet, { runId: `storm-${seed}`, seed, most: left, pauseMs: PAUSE_MS }));
  }
  database = await fleet.openDatabase();
  episodes = await recordedEpisodes(database, 'torn');
}, 900_000);

afterAll(async () => {
  await database?.close();
  await calm?.stop();
  await torn?.stop();
  await fleet?.stop();
}, 60_000);

function begin(runId: string): Promise<RunLog> {
  return fleet.createRun(runId, RUN);
}

async function kill(name: ServiceName): Promise<void> {
  await fleet.kill(name);
  killed.push(name);
}

/** Kills every process during its work. */
async function tear(): Promise<void> {
  await playing('baseline', 1);
  await kill('env');
  await kill('evaluator');
  await playing('train', 2);
  await kill('actor');
  await kill('monitor');
  await fleet.until('episodes that wait for their batch', () => ended('train') >= 4, 120_000);
  await kill('learner');
  await fleet.until('a step', () => torn.steps.length >= 1, 120_000);
  await kill('task-loader');
  await playing('train', TRAINED_PER_STEP + 2);
  await fleet.nats.restart(500);
  killed.push('nats-server');
  await playing('final', 1);
  await kill('learner');
}

/** Waits until a number of episodes of a kind have started, and records how many are in progress. */
async function playing(kind: Kind, begun: number): Promise<void> {
  await fleet.until(`episode ${begun} of ${kind}`, () => started(kind) >= begun, 120_000);
  inFlight.push(started(kind) - ended(kind));
}

function started(kind: Kind): number {
  return torn.events('rollout_started').filter(({ rolloutId }) => ROLLOUTS[kind].test(rolloutId)).length;
}

function ended(kind: Kind): number {
  return torn.trajectories.filter(({ request }) => ROLLOUTS[kind].test(request.rolloutId)).length;
}

it('continues to the end after every kill', () => {
  expect(killed.toSorted()).toEqual(
    ['actor', 'env', 'evaluator', 'learner', 'learner', 'monitor', 'nats-server', 'task-loader'].toSorted(),
  );
  expect(Math.max(...inFlight)).toBeGreaterThan(0);
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
  expect(miscounted(episodes, firstAttempts('torn', { ...SIZE, groups: GROUPS }))).toEqual([]);
  const published = torn.trajectories.map(({ request }) => request.rolloutId);
  expect(episodes.map(({ id }) => id).toSorted()).toEqual(published.toSorted());
});

it('trains every valid episode exactly once', () => {
  expect(torn.steps).toHaveLength(SIZE.steps);
  expect(mistrained(episodes, torn.steps)).toEqual([]);
});

it('learns the same as an undisturbed run', () => {
  const rewards = (log: RunLog) =>
    log.steps.map(({ step, metrics }) => [step, metrics['env/all/reward/total'], metrics['optim/loss']]);
  expect(rewards(torn)).toEqual(rewards(calm));
  const digests = (log: RunLog) =>
    log.events('checkpoint').map(({ step, adapterDigest }) => [step, adapterDigest]);
  expect(digests(torn)).toEqual(digests(calm));
  expect(new Set(digests(torn).map(([, digest]) => digest)).size).toBeGreaterThan(2);
});

it('leaves a run that can be reconstructed from the database alone', async () => {
  const steps = await database.dataSource.query<{ step: number; trained: number }[]>(
    `SELECT step, cardinality(rollout_ids)::int AS trained FROM steps WHERE run_id = 'torn' ORDER BY step`,
  );
  expect(steps).toEqual([1, 2, 3].map((step) => ({ step, trained: TRAINED_PER_STEP })));
});

it('loses and doubles nothing, and learns the same, where processes are killed faster than they come to rest', () => {
  expect(killed.length + killsOf(stormy)).toBe(KILLS);
  expect(stormy.flatMap(({ problems }) => problems)).toEqual([]);
  const learned = calm.events('checkpoint').map(({ adapterDigest }) => adapterDigest);
  const success = calm.events('evaluation').at(-1)?.successRate;
  for (const storm of stormy) expect(storm).toMatchObject({ digests: learned, success });
});

it('ends no service that was not killed', () => {
  expect(fleet.unexpectedEnds).toEqual([]);
});
