import { subjects } from '@ui-rl/contracts';
import { openWays, type Sent, sendWrong } from '../fuzz/subjects';
import { TestFleet } from './support/fleet';
import type { RunLog } from './support/run-log';

let fleet: TestFleet;
const logs: RunLog[] = [];
/** Messages as nobody should send them, to every service of the second run. */
const WRONG = { seed: 1, from: 0, to: 500 };
let wrong: Sent;

beforeAll(async () => {
  fleet = await TestFleet.start();
  await play('first', 0);
  // Other episodes in the same batches of the device must not matter, nor what somebody sends who should not.
  await play('second', 4);
}, 300_000);

afterAll(async () => {
  for (const log of logs) await log.stop();
  await fleet?.stop();
}, 60_000);

async function play(runId: string, publishedTasks: number): Promise<void> {
  const log = await fleet.createRun(runId, {
    training: { deterministic: true, seed: 3, groups_per_batch: 3, max_steps: 3 },
    evaluation: { baseline: false },
  });
  logs.push(log);
  for (let task = 0; task < publishedTasks; task++) {
    fleet.bus.connection.publish(subjects.task(runId), '{"description":"Open Settings"}');
  }
  if (publishedTasks > 0) wrong = await sendWrong(fleet, await openWays(fleet, log), WRONG);
  await fleet.reaches(runId, 'finished');
  await log.ends();
}

/** Episodes of training by their place in the run, and what was sampled in them. */
function episodes(log: RunLog) {
  const train = log.trajectories.filter(({ request }) => request.purpose === 'train');
  const entries = train.map(({ request, reward, turns }) => [
    request.rolloutId.slice(log.runId.length),
    {
      reward,
      seed: request.seed,
      turns: turns.map(({ text, tokenIds, logprobs }) => ({ text, tokenIds, logprobs })),
    },
  ]);
  return Object.fromEntries(entries) as Record<string, { reward: number }>;
}

function steps(log: RunLog) {
  return log.steps.map(({ step, rolloutIds, metrics }) => ({
    step,
    rollouts: rolloutIds.map((id) => id.slice(log.runId.length)),
    metrics: Object.fromEntries(
      Object.entries(metrics).filter(([name]) => !/^(time|idle_ratio)\//.test(name)),
    ),
  }));
}

it('gives the same rewards in every episode and step of two runs with the same seed', () => {
  const [first, second] = logs;
  expect(steps(first)).toHaveLength(3);
  expect(Object.keys(episodes(first))).toHaveLength(18);
  expect(episodes(second)).toEqual(episodes(first));
  expect(steps(second)).toEqual(steps(first));
});

it('ends with the same weights, which are not those it began with', () => {
  const [first, second] = logs.map((log) =>
    log.events('checkpoint').map(({ adapterDigest }) => adapterDigest),
  );
  expect(new Set(first).size).toBeGreaterThan(1);
  expect(second).toEqual(first);
});

it('has episodes that differ: the comparison could fail', () => {
  const rewards = Object.values(episodes(logs[0])).map(({ reward }) => reward);
  expect(new Set(rewards).size).toBeGreaterThan(3);
});

it('answers every wrong request, and no service ends over them', () => {
  expect(wrong.count).toBeGreaterThan(WRONG.to / 2);
  expect(wrong.unanswered).toEqual([]);
  expect(fleet.unexpectedEnds).toEqual([]);
});
