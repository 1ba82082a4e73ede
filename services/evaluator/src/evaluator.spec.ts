import 'reflect-metadata';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type EvaluationEvent,
  type PolicyState,
  type RolloutRequest,
  SEED_RANGES,
  STREAMS,
  wilson,
} from '@ui-rl/contracts';
import { drained, eventually } from '@ui-rl/testkit';
import { ALL, byId, checkpoint, EPISODES, EvaluatorWorld, succeeds, TRAIN } from '../test/evaluator-world';

let world: EvaluatorWorld;

beforeAll(async () => {
  world = await EvaluatorWorld.open();
});
afterEach(() => world.endRuns());
afterAll(() => world.close());

function policyAt(runId: string, version: number): PolicyState {
  const name = checkpoint(runId, version);
  return { epoch: 0, version, adapterDigest: `d${version}`, checkpoint: name, groupsRequested: 0 };
}

it('evaluates before, during and after training, and moves the run on', async () => {
  const runId = await world.createRun();
  const evaluations = await world.follow<EvaluationEvent>(runId, 'evaluation');
  const ready = await world.follow(runId, 'service_ready');
  const requests = await world.startActor(runId, ({ purpose, groupIndex }) => ({
    success: purpose === 'baseline' ? groupIndex === 1 : groupIndex !== 0,
  }));
  await world.startEvaluator(runId);
  await world.inPhase(runId, 'training');
  expect(requests).toHaveLength(ALL);
  expect(requests.every(({ purpose, policy }) => purpose === 'baseline' && policy === 'latest')).toBe(true);
  expect(ready).toHaveLength(1);
  await eventually('both results', () => evaluations.length >= 2);
  expect(byId(evaluations)[`${runId}-baseline-train_goals`]).toMatchObject({
    stage: 'baseline',
    set: 'train_goals',
    policyVersion: 0,
    successRate: 1 / TRAIN,
    interval: wilson(1, TRAIN),
    episodes: TRAIN,
    invalid: 0,
  });
  const { tasks } = byId(evaluations)[`${runId}-baseline-train_goals`];
  expect(tasks.map(({ successes, episodes }) => [successes, episodes])).toEqual([
    [0, EPISODES],
    [1, EPISODES],
    [0, EPISODES],
  ]);
  expect(tasks.map(({ taskId }) => taskId)).toEqual(requests.slice(0, 3).map(({ task }) => task.id));

  await world.announceCheckpoint(runId, 15);
  await world.announceCheckpoint(runId, 10);
  await eventually('the periodic results', () => evaluations.length >= 4);
  expect(requests).toHaveLength(2 * ALL);
  const periodic = requests.slice(ALL);
  expect(periodic.every(({ purpose }) => purpose === 'eval')).toBe(true);
  expect(new Set(periodic.map(({ policy }) => policy))).toEqual(new Set([checkpoint(runId, 10)]));
  expect(byId(evaluations)[`${runId}-periodic-000010-eval_goals`]).toMatchObject({
    stage: 'periodic',
    policyVersion: 10,
    checkpoint: checkpoint(runId, 10),
    episodes: 2 * EPISODES,
  });

  const last = policyAt(runId, 20);
  await world.bus.runs.putPolicy(runId, last);
  await world.bus.runs.changePhase(runId, 'final_eval');
  await world.inPhase(runId, 'finished');
  await eventually('the final results', () => evaluations.length >= 6);
  expect(requests).toHaveLength(3 * ALL);
  expect(new Set(requests.slice(2 * ALL).map(({ policy }) => policy))).toEqual(new Set([last.checkpoint]));
  expect(byId(evaluations)[`${runId}-final-train_goals`]).toMatchObject({
    stage: 'final',
    policyVersion: 20,
    checkpoint: last.checkpoint,
    successRate: (TRAIN - 1) / TRAIN,
  });
});

it('says which checkpoint is the result of the run where the last one is worse', async () => {
  const runId = await world.createRun('baseline', { evaluation: { episodes_per_task: 4, baseline: false } });
  await world.startActor(runId, ({ policy }) => ({ success: policy === checkpoint(runId, 10) }));
  await world.startEvaluator(runId);
  await world.inPhase(runId, 'training');
  await world.announceCheckpoint(runId, 10);
  await world.bus.runs.putPolicy(runId, policyAt(runId, 20));
  await world.bus.runs.changePhase(runId, 'final_eval');
  await world.inPhase(runId, 'finished');
  expect((await world.bus.runs.state(runId))?.reason).toBe(
    `the result is ${checkpoint(runId, 10)}, with 100.0 %: the last checkpoint is worse`,
  );
});

it('evaluates once where the warm start has ended, and none of its other checkpoints', async () => {
  const runId = await world.createRun('baseline', { evaluation: { episodes_per_task: 1, baseline: false } });
  const evaluations = await world.follow<EvaluationEvent>(runId, 'evaluation');
  const requests = await world.startActor(runId, succeeds);
  await world.startEvaluator(runId);
  await world.inPhase(runId, 'training');
  await world.announceCheckpoint(runId, 10, { warmStart: 'running' });
  await world.announceCheckpoint(runId, 15, { warmStart: 'done' });
  await world.announceCheckpoint(runId, 20);
  await eventually('the results', () => evaluations.length >= 4);
  expect(byId(evaluations)[`${runId}-warm_start-train_goals`]).toMatchObject({
    ...{ stage: 'warm_start', policyVersion: 15, checkpoint: checkpoint(runId, 15), successRate: 1 },
  });
  const steps = new Set(evaluations.map(({ stage, policyVersion }) => `${stage} ${policyVersion}`));
  expect([...steps].toSorted()).toEqual(['periodic 20', 'warm_start 15']);
  expect(new Set(requests.map(({ purpose }) => purpose))).toEqual(new Set(['eval']));
});

it('evaluates a warm start as any other training where nothing follows it, and not at its end where that is off', async () => {
  const evaluation = { episodes_per_task: 1, baseline: false, warm_start: false };
  const warm_start = { episodes: `uirl://file/${'0'.repeat(64)}/episodes.jsonl`, only: true };
  const alone = await world.createRun('baseline', {
    evaluation,
    training: { seed: 5, eval_every: 10, warm_start },
  });
  const followed = await world.createRun('baseline', { evaluation });
  for (const runId of [alone, followed]) {
    const evaluations = await world.follow<EvaluationEvent>(runId, 'evaluation');
    await world.startActor(runId, succeeds);
    await world.startEvaluator(runId);
    await world.inPhase(runId, 'training');
    await world.announceCheckpoint(runId, 10, { warmStart: 'running' });
    await world.announceCheckpoint(runId, 20, { warmStart: 'done' });
    await world.announceCheckpoint(runId, 30);
    await eventually('the results', () => evaluations.some(({ policyVersion }) => policyVersion === 30));
    await drained(world.bus, STREAMS.events, `test-${runId}-evaluation`);
    const steps = new Set(evaluations.map(({ stage, policyVersion }) => `${stage} ${policyVersion}`));
    const expected = runId === alone ? ['periodic 10', 'periodic 20', 'periodic 30'] : ['periodic 30'];
    expect([...steps].toSorted()).toEqual(expected);
  }
});

it('evaluates the last checkpoint once, as the final one', async () => {
  const runId = await world.createRun('baseline', { evaluation: { episodes_per_task: 1, baseline: false } });
  const evaluations = await world.follow<EvaluationEvent>(runId, 'evaluation');
  await world.startActor(runId, succeeds);
  await world.startEvaluator(runId);
  await world.inPhase(runId, 'training');
  await world.announceCheckpoint(runId, 10);
  await eventually('the periodic results', () => evaluations.length >= 2);
  await world.announceCheckpoint(runId, 20, { last: true });
  await world.bus.runs.putPolicy(runId, policyAt(runId, 20));
  await world.bus.runs.changePhase(runId, 'final_eval');
  await world.inPhase(runId, 'finished');
  await drained(world.bus, STREAMS.events, `test-${runId}-evaluation`);
  expect(evaluations.map(({ stage, policyVersion }) => [stage, policyVersion])).toEqual([
    ['periodic', 10],
    ['periodic', 10],
    ['final', 20],
    ['final', 20],
  ]);
});

it('plays the same starts before and after, none of them from the range of training', async () => {
  const runId = await world.createRun();
  const requests = await world.startActor(runId, succeeds);
  await world.startEvaluator(runId);
  await world.inPhase(runId, 'training');
  await world.bus.runs.changePhase(runId, 'final_eval');
  await world.inPhase(runId, 'finished');
  const starts = (rollouts: RolloutRequest[]) =>
    new Set(rollouts.map(({ task, seed, samplingSeed }) => `${task.id} ${seed} ${samplingSeed}`));
  expect(starts(requests.slice(0, ALL))).toEqual(starts(requests.slice(ALL)));
  expect(starts(requests).size).toBe(ALL);
  const { first, count } = SEED_RANGES.evaluation;
  expect(requests.every(({ seed }) => seed >= first && seed < first + count)).toBe(true);
  expect(new Set(requests.map(({ rolloutId }) => rolloutId)).size).toBe(2 * ALL);
  const neighbours = requests.slice(0, ALL).map(({ task }) => task.id);
  expect(neighbours.every((id, index) => id !== neighbours[index + 1])).toBe(true);
});

it('goes straight to training where no baseline is configured', async () => {
  const runId = await world.createRun('baseline', { evaluation: { baseline: false } });
  const requests = await world.startActor(runId, succeeds);
  await world.startEvaluator(runId);
  await world.inPhase(runId, 'training');
  expect(requests).toHaveLength(0);
});

it('leaves out tasks that nothing can verify, and warns', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'uirl-source-'));
  world.ends.push(async () => rmSync(folder, { recursive: true }));
  const tasks = "[{ id: 'free', description: 'Look around', environment: { kind: 'browser', options: {} } }]";
  writeFileSync(
    join(folder, 'free.js'),
    `exports.default = { kind: 'task-source', name: 'free', create: () => ({ load: () => ${tasks} }) };`,
  );
  const runId = await world.createRun('baseline', { eval_tasks: [{ source_type: 'free' }] });
  const evaluations = await world.follow<EvaluationEvent>(runId, 'evaluation');
  const warnings = await world.follow(runId, 'warning');
  await world.startActor(runId, succeeds);
  await world.startEvaluator(runId, [join(folder, 'free.js')]);
  await world.inPhase(runId, 'training');
  await eventually('the result', () => evaluations.length > 0);
  await drained(world.bus, STREAMS.events, `test-${runId}-warning`);
  expect(evaluations.map(({ set }) => set)).toEqual(['train_goals']);
  expect(warnings).toMatchObject([{ code: 'unchecked_tasks', message: expect.stringContaining('free') }]);
});

it('evaluates what the verifier of the run judges without checks, and tells the mean reward where rewards alone judge', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'uirl-source-'));
  world.ends.push(async () => rmSync(folder, { recursive: true }));
  const device = { kind: 'android', options: { validators: [{ setting: 'global wifi_on', expected: 1 }] } };
  const tasks = [
    { id: 'wifi', description: 'Wi-Fi', environment: device },
    { id: 'free', description: 'Look around', environment: { kind: 'browser', options: {} } },
  ];
  writeFileSync(
    join(folder, 'free.js'),
    `exports.default = { kind: 'task-source', name: 'free', create: () => ({ load: () => ${JSON.stringify(tasks)} }) };`,
  );
  const evaluated = async (changes: object) => {
    const sets = { evaluation: { episodes_per_task: EPISODES, sets: ['eval_goals'] } };
    const runId = await world.createRun('baseline', {
      eval_tasks: [{ source_type: 'free' }],
      ...sets,
      ...changes,
    });
    const evaluations = await world.follow<EvaluationEvent>(runId, 'evaluation');
    await world.startActor(runId, ({ task }) => ({
      ...{ reward: 0.5, rewards: { progress: 0.5 } },
      success: task.id === 'wifi' ? true : null,
    }));
    await world.startEvaluator(runId, [join(folder, 'free.js')]);
    await world.inPhase(runId, 'training');
    await eventually('the result', () => evaluations.length > 0);
    return evaluations[0];
  };
  const byDevice = await evaluated({ verifier: 'adb' });
  expect(byDevice).toMatchObject({ successRate: 1, episodes: EPISODES });
  expect(byDevice.tasks.map(({ taskId }) => taskId)).toEqual(['wifi']);
  const both = await evaluated({ verifier: 'adb', rewards: [{ name: 'progress' }] });
  expect(both).toMatchObject({
    ...{ successRate: 1, episodes: EPISODES, unjudged: EPISODES, invalid: 0 },
    tasks: [
      { taskId: 'wifi', successes: EPISODES, episodes: EPISODES },
      { taskId: 'free', successes: 0, episodes: 0 },
    ],
    metrics: { 'env/all/reward/total': 0.5, 'env/all/episodes': 2 * EPISODES, 'env/all/success': 1 },
  });
  // Only rewards judge, so there is no success rate.
  const rewarded = await evaluated({ rewards: [{ name: 'progress' }] });
  expect(rewarded.tasks.map(({ taskId }) => taskId)).toEqual(['wifi', 'free']);
});

it('fails a run whose tasks cannot be loaded, with the reason', async () => {
  const runId = await world.createRun('baseline', {
    eval_tasks: [{ source_type: 'demo_eval', categroy: 'app' }],
  });
  await world.startEvaluator(runId);
  await world.inPhase(runId, 'failed');
  expect((await world.bus.runs.state(runId))?.reason).toContain('categroy');
});
