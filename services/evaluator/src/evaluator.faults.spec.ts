import 'reflect-metadata';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DeadLetter } from '@ui-rl/bus';
import {
  type EvaluationEvent,
  type OpenEvaluation,
  type RolloutRequest,
  STREAMS,
  subjects,
  type WarningEvent,
} from '@ui-rl/contracts';
import { loadComponents } from '@ui-rl/plugin-kit';
import { drained, eventually, startFromSource } from '@ui-rl/testkit';
import { ALL, byId, EvaluatorWorld, succeeds, TRAIN } from '../test/evaluator-world';
import { type EvaluationPlan, planRun } from './plan';
import { RunEvaluator } from './run-evaluator';

let world: EvaluatorWorld;

async function planOf(runId: string): Promise<EvaluationPlan> {
  const record = await world.bus.runs.record(runId);
  return planRun(record!, { bus: world.bus, components: await loadComponents(), cacheDir: tmpdir() });
}

beforeAll(async () => {
  world = await EvaluatorWorld.open();
});
afterEach(() => world.endRuns());
afterAll(() => world.close());

it('has invalid episodes played again, and counts those that stay invalid', async () => {
  const runId = await world.createRun('baseline', {
    evaluation: { episodes_per_task: 2, sets: ['train_goals'] },
  });
  const evaluations = await world.follow<EvaluationEvent>(runId, 'evaluation');
  const requests = await world.startActor(runId, ({ groupIndex, attempt }) => {
    const invalid = groupIndex === 1 || (groupIndex === 4 && attempt === 0);
    return invalid ? { status: 'invalid', invalidReason: 'crashed', success: null } : { success: true };
  });
  await world.startEvaluator(runId);
  await world.inPhase(runId, 'training');
  await eventually('the result', () => evaluations.length > 0);
  expect(evaluations[0]).toMatchObject({ episodes: TRAIN - 1, invalid: 1, successRate: 1 });
  const ids = requests.map(({ rolloutId }) => rolloutId.slice(`${runId}-baseline-train_goals-`.length));
  expect(ids.filter((id) => id.startsWith('0001'))).toEqual(['0001-r0', '0001-r0-a1', '0001-r0-a2']);
  expect(ids.filter((id) => id.startsWith('0004'))).toEqual(['0004-r0', '0004-r0-a1']);
  expect(requests.at(-1)).toMatchObject({ attempt: 2, groupIndex: 1 });
  expect(new Set(requests.filter(({ groupIndex }) => groupIndex === 1).map(({ seed }) => seed)).size).toBe(1);
});

it('gives no success rate where all episodes are invalid', async () => {
  const runId = await world.createRun('baseline', {
    rollout: { max_attempts: 1 },
    evaluation: { episodes_per_task: 1, sets: ['train_goals'] },
  });
  const evaluations = await world.follow<EvaluationEvent>(runId, 'evaluation');
  await world.startActor(runId, () => ({ status: 'invalid', invalidReason: 'crashed', success: null }));
  await world.startEvaluator(runId);
  await world.inPhase(runId, 'training');
  await eventually('the result', () => evaluations.length > 0);
  expect(evaluations[0]).toMatchObject({ successRate: null, interval: [0, 1], episodes: 0, invalid: 3 });
});

it('waits for the learner: before it serves the run, nothing is played and training does not begin', async () => {
  const [evaluated, trained] = [
    await world.announceRun(),
    await world.announceRun('baseline', { evaluation: { baseline: false } }),
  ];
  const requests = await world.startActor(evaluated, succeeds);
  const evaluations = await Promise.all(
    [evaluated, trained].map(async (runId) => ({ runId, warnings: await world.follow(runId, 'warning') })),
  );
  const stop = new AbortController();
  const running = evaluations.map(async ({ runId }) =>
    new RunEvaluator(world.bus, await planOf(runId), { stallMs: 200 }).work(stop.signal),
  );
  for (const { runId, warnings } of evaluations) {
    const [warning] = await eventually('a warning', () => (warnings.length > 0 ? warnings : null));
    expect(warning).toMatchObject({
      code: 'stall',
      message: expect.stringContaining('has been waiting for its learner'),
    });
    expect((await world.bus.runs.state(runId))?.phase).toBe('baseline');
  }
  expect(requests).toHaveLength(0);
  for (const { runId } of evaluations) {
    await world.servePolicy(runId);
    await world.inPhase(runId, 'training');
  }
  expect(requests).toHaveLength(ALL);
  stop.abort();
  await Promise.all(running);
});

it('has episodes played again that were lost, and counts those that are lost each time as invalid', async () => {
  const runId = await world.createRun('baseline', {
    evaluation: { episodes_per_task: 1, sets: ['train_goals'] },
  });
  const evaluations = await world.follow<EvaluationEvent>(runId, 'evaluation');
  const warnings = await world.follow(runId, 'warning');
  const asked: RolloutRequest[] = [];
  // Requests that are taken out of the queue and never answered, as if a stream had lost its storage.
  await world.startActor(runId, (request) => {
    asked.push(request);
    if (request.groupIndex === 2) return null;
    return request.groupIndex === 1 && request.attempt === 0 ? null : { success: true };
  });
  const stop = new AbortController();
  const running = new RunEvaluator(world.bus, await planOf(runId), { lookEveryMs: 100 }).work(stop.signal);
  await world.inPhase(runId, 'training');
  await eventually('the result', () => evaluations.length > 0);
  stop.abort();
  await running;
  expect(evaluations[0]).toMatchObject({ successRate: 1, episodes: 2, invalid: 1 });
  const attempts = (index: number) =>
    asked.filter(({ groupIndex }) => groupIndex === index).map(({ attempt }) => attempt);
  expect([0, 1, 2].map(attempts)).toEqual([[0], [0, 1], [0, 1, 2]]);
  expect(warnings[0]).toMatchObject({ code: 'lost_episodes', message: expect.stringContaining('0001-r0') });
});

it('counts an episode once, however often its trajectory comes', async () => {
  const runId = await world.createRun('baseline', {
    evaluation: { episodes_per_task: 1, sets: ['train_goals'] },
  });
  const evaluations = await world.follow<EvaluationEvent>(runId, 'evaluation');
  const held: RolloutRequest[] = [];
  await world.startActor(runId, (request) => {
    held.push(request);
    return null;
  });
  await world.startEvaluator(runId);
  await eventually('3 rollouts', () => held.length >= 3);
  for (const copy of ['one', 'two', 'three']) await world.publish(held[0], { success: false }, copy);
  await drained(world.bus, STREAMS.trajectories, `evaluator-${runId}-baseline`);
  expect((await world.bus.runs.state(runId))?.phase).toBe('baseline');
  await world.publish(held[1], { success: true });
  await world.publish(held[2], { success: true });
  await world.inPhase(runId, 'training');
  await eventually('the result', () => evaluations.length > 0);
  expect(evaluations[0]).toMatchObject({ episodes: 3, successRate: 2 / 3 });
});

it('continues after it is killed over and over', async () => {
  const runId = await world.createRun('baseline', { evaluation: { episodes_per_task: 12 } });
  const evaluations = await world.follow<EvaluationEvent>(runId, 'evaluation');
  let allowed = 0;
  const held: RolloutRequest[] = [];
  const requests = await world.startActor(runId, (request) => {
    held.push(request);
    return null;
  });
  const feed = async (until: number) => {
    for (; allowed < until; allowed += 1) {
      const request = await eventually(`rollout ${allowed}`, () => held[allowed], 20_000);
      const invalid = request.groupIndex % 10 === 3 && request.attempt === 0;
      await world.publish(
        request,
        invalid
          ? { status: 'invalid', invalidReason: 'crashed', success: null }
          : { success: request.groupIndex % 2 === 0 },
      );
    }
  };
  const start = () => startFromSource('evaluator', { NATS_URL: world.nats.url, UIRL_RUN: runId });
  let service = start();
  await feed(1);
  await service.kill();
  await feed(8);
  service = start();
  await feed(30);
  await service.kill();
  service = start();
  world.ends.push(() => service.kill());
  // 36 training and 24 evaluation episodes, of which 4 and 3 are delivered twice.
  await feed(67);
  await world.inPhase(runId, 'training');
  await eventually('both results', () => evaluations.length >= 2);
  await service.stop();
  await drained(world.bus, STREAMS.events, `test-${runId}-evaluation`);
  expect(evaluations).toHaveLength(2);
  const results = byId(evaluations);
  expect(results[`${runId}-baseline-train_goals`]).toMatchObject({
    episodes: 36,
    invalid: 0,
    successRate: 0.5,
  });
  expect(results[`${runId}-baseline-eval_goals`]).toMatchObject({
    episodes: 24,
    invalid: 0,
    successRate: 0.5,
  });
  expect(requests).toHaveLength(67);
  expect(new Set(requests.map(({ rolloutId }) => rolloutId)).size).toBe(67);
});

it('continues after nats-server is killed', async () => {
  const runId = await world.createRun('baseline', { evaluation: { episodes_per_task: 8 } });
  const evaluations = await world.follow<EvaluationEvent>(runId, 'evaluation');
  const held: RolloutRequest[] = [];
  const requests = await world.startActor(runId, (request) => {
    held.push(request);
    return held.length > 12 ? null : { success: true };
  });
  await world.startEvaluator(runId);
  await eventually('12 episodes', () => held.length > 12);
  await world.nats.restart(300);
  await eventually(
    'all rollouts',
    () => new Set(requests.map(({ rolloutId }) => rolloutId)).size === 40,
    40_000,
  );
  for (const request of held.slice(12)) await world.publish(request, { success: false });
  await world.inPhase(runId, 'training');
  await eventually('both results', () => evaluations.length >= 2);
  const [first, second] = evaluations;
  expect(first.episodes + second.episodes).toBe(40);
  expect(first.successRate! * first.episodes + second.successRate! * second.episodes).toBeCloseTo(12);
});

it('publishes a result that was complete when the process ended, and then moves on', async () => {
  const runId = await world.createRun();
  const complete = (set: string, outcomes: string): OpenEvaluation => ({
    evaluationId: `${runId}-baseline-${set}`,
    stage: 'baseline',
    set,
    policy: 'latest',
    policyVersion: 0,
    released: true,
    outcomes,
    refills: {},
  });
  const open = [complete('train_goals', 'ssfsxs'), complete('eval_goals', 'ffff')];
  await world.bus.runsBucket.put(`${runId}.evaluator`, { open, stagesDone: [], lastPeriodicStep: 0 });
  const evaluations = await world.follow<EvaluationEvent>(runId, 'evaluation');
  const requests = await world.startActor(runId, succeeds);
  await world.startEvaluator(runId);
  await world.inPhase(runId, 'training');
  await eventually('both results', () => evaluations.length >= 2);
  expect(byId(evaluations)[`${runId}-baseline-train_goals`]).toMatchObject({
    episodes: 5,
    invalid: 1,
    successRate: 0.8,
  });
  expect(requests).toHaveLength(0);
});

it('makes a dead letter of an unreadable message and continues', async () => {
  const runId = await world.createRun();
  await world.startEvaluator(runId);
  world.bus.connection.publish(subjects.trajectory(runId, 'baseline'), '{"status":"completed"}');
  world.bus.connection.publish(subjects.trajectory(runId, 'eval'), 'no JSON');
  world.bus.connection.publish(subjects.event(runId, 'checkpoint'), '{"step":"ten"}');
  const reasons = await eventually('3 records', async () => {
    const keys = await world.bus.deadLetterBucket.keys('evaluator.>');
    const records = await Promise.all(keys.map((key) => world.bus.deadLetterBucket.get<DeadLetter>(key)));
    return records.length >= 3 ? records.map((entry) => entry?.value.reason) : null;
  });
  expect(reasons).toEqual(
    expect.arrayContaining([
      expect.stringContaining('request: '),
      expect.stringContaining('not JSON'),
      expect.stringContaining('step: must be an integer number, found "ten"'),
    ]),
  );
  await world.startActor(runId, succeeds);
  await world.inPhase(runId, 'training');
});

it('warns when no episode comes in, once per silence', async () => {
  const runId = await world.createRun();
  const warnings = await world.follow(runId, 'warning');
  const stop = new AbortController();
  const asked = await world.startActor(runId, () => null);
  const running = new RunEvaluator(world.bus, await planOf(runId), { stallMs: 200 }).work(stop.signal);
  await eventually('a warning', () => warnings.length > 0);
  await world.publish(asked[0], { success: true });
  await eventually('another warning', () => warnings.length > 1);
  stop.abort();
  await running;
  await drained(world.bus, STREAMS.events, `test-${runId}-warning`);
  const waiting = (left: number) => ({
    code: 'stall',
    message: expect.stringContaining(
      `${runId}-baseline-train_goals waits for ${left} of ${TRAIN} episodes`,
    ) as string,
  });
  expect(warnings).toMatchObject([waiting(TRAIN), waiting(TRAIN - 1)]);
});

it('counts no silence from before an evaluation began', async () => {
  const runId = await world.createRun('training');
  const warnings = await world.follow<WarningEvent>(runId, 'warning');
  const stop = new AbortController();
  const stallMs = 1_000;
  const running = new RunEvaluator(world.bus, await planOf(runId), { stallMs }).work(stop.signal);
  await sleep(0.8 * stallMs);
  const beganAt = Date.now();
  await world.announceCheckpoint(runId, 10);
  const [warning] = await eventually('a warning', () => (warnings.length > 0 ? warnings : null));
  stop.abort();
  await running;
  expect(warning.message).toContain(`waits for ${TRAIN} of ${TRAIN} episodes`);
  expect(Date.parse(warning.at) - beganAt).toBeGreaterThanOrEqual(stallMs);
});
