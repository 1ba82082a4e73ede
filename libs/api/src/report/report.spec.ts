import { wilson, type EvaluationEvent, type RunEvent, type Trajectory } from '@ui-rl/contracts';
import type { RunFile } from '@ui-rl/settings';
import { eventually, makeRollout, makeTrajectory } from '@ui-rl/testkit';
import { phaseGoal } from './goals';
import { clock, ProgressDisplay, progressLine } from './progress';
import { beforeAfterTable, quickstartReport } from './quickstart-report';
import { RunObserver } from './run-observer';

const at = '2026-01-01T00:00:00.000Z';

function evaluation(
  stage: EvaluationEvent['stage'],
  set: string,
  successes: number,
  episodes = 4,
): EvaluationEvent {
  return {
    type: 'evaluation',
    runId: 'r',
    at,
    evaluationId: `r-${stage}-${set}`,
    stage,
    set,
    policyVersion: 0,
    checkpoint: 'uirl://r/sampler_weights/000000',
    successRate: successes / episodes,
    interval: wilson(successes, episodes),
    episodes,
    invalid: 0,
    tasks: [{ taskId: 't1', description: 'Turn on Wi-Fi', successes, episodes }],
  };
}

function trajectory(purpose: 'train' | 'eval', status: Trajectory['status'], success: boolean): Trajectory {
  return makeTrajectory({ request: makeRollout({ purpose }), status, success });
}

function observed(...events: RunEvent[]): RunObserver {
  const observer = new RunObserver();
  for (const event of events) observer.onEvent(event);
  return observer;
}

describe('RunObserver', () => {
  test('counts an evaluation published twice once, and keeps the largest KL of either sign', () => {
    const step = (n: number, metrics: Record<string, number>): RunEvent => ({
      type: 'train_step',
      runId: 'r',
      at,
      step: n,
      rolloutIds: [],
      metrics,
    });
    const observer = observed(
      evaluation('baseline', 'train_goals', 1),
      evaluation('baseline', 'train_goals', 1),
      step(1, { 'optim/kl_sample_train_v1': -3e-6 }),
      step(2, { 'optim/kl_sample_train_v1': 1e-6 }),
    );
    // A step that trained on no tokens.
    expect(observed(step(1, { 'optim/substeps': 0 })).maxKlSampleTrain).toBeNull();
    expect(observer.evaluations).toHaveLength(1);
    expect(observer.maxKlSampleTrain).toBe(3e-6);
    expect(observer.trainSteps).toBe(2);
  });

  test('invalid episodes count as such and stay out of the success rate', () => {
    const observer = new RunObserver();
    observer.onTrajectory(trajectory('train', 'completed', true));
    observer.onTrajectory(trajectory('train', 'truncated', false));
    observer.onTrajectory(trajectory('train', 'invalid', false));
    observer.onTrajectory(trajectory('eval', 'completed', false));
    expect(observer.recentSuccess()).toBe(0.5);
    expect(observer.invalidShare).toBe(0.25);
  });

  test('a failed run says why', () => {
    expect(observed({ type: 'phase', runId: 'r', at, phase: 'failed', reason: 'no model' }).failure).toBe(
      'no model',
    );
  });
});

test('progress shows phase, share, rate, success and the time left', () => {
  const observer = observed({ type: 'phase', runId: 'r', at, phase: 'training' });
  for (let i = 0; i < 10; i++) observer.onTrajectory(trajectory('train', 'completed', i < 4));
  const line = progressLine(observer, { done: 0.5, secondsLeft: 61 }, observer.phaseSince + 5_000);
  expect(line).toMatch(/^training .* 50 % {2}2\.0 episodes\/s {2}step 0 {2}success 40 % {2}1:01 left$/);
  expect(clock(3599.6)).toBe('60:00');
});

test.each([80, 120, 60, 40])('progress keeps success and the time left at %i columns', (columns) => {
  const observer = observed({ type: 'phase', runId: 'r', at, phase: 'training' });
  for (let i = 0; i < 200; i++) observer.onTrajectory(trajectory('train', 'completed', i < 80));
  observer.trainSteps = 1234;
  const goal = { done: 0.5, secondsLeft: 3661 };
  const line = progressLine(observer, goal, observer.phaseSince + 5_000, columns - 1);
  expect(line).toMatch(/50 %.*success 40 % {2}61:01 left$/);
  if (columns >= 60) expect(line.length).toBeLessThan(columns);
  expect(/[█░]{6,}/.test(line)).toBe(columns >= 80);
  expect(line.includes('episodes/s')).toBe(columns >= 80);
});

test('a terminal of 80 columns shows the whole line', async () => {
  const written: string[] = [];
  const out = Object.assign(Object.create(process.stdout) as NodeJS.WriteStream, {
    ...{ isTTY: true, columns: 80 },
    write: (text: string) => (written.push(text), true),
  });
  const observer = observed({ type: 'phase', runId: 'r', at, phase: 'training' });
  for (let i = 0; i < 200; i++) observer.onTrajectory(trajectory('train', 'completed', i < 80));
  const goal = { done: 0.5, secondsLeft: 3661 };
  const display = new ProgressDisplay((columns) => progressLine(observer, goal, Date.now(), columns), out);
  display.start();
  await eventually('a line', async () => written.length > 0);
  display.stop();
  expect(written[0]).toMatch(/success 40 % {2}61:01 left$/);
});

test('the time left is that of the whole run, by what was measured', () => {
  jest.useFakeTimers({ now: 0 });
  try {
    const run = {
      training: { max_minutes: 0, total_minutes: 14, max_steps: 10, groups_per_batch: 2, warm_start: {} },
      evaluation: { baseline: true },
      rollout: { group_size: 5 },
    } as RunFile;
    const observer = observed({ type: 'phase', runId: 'r', at, phase: 'baseline' });
    for (let i = 0; i < 20; i++) observer.onTrajectory(trajectory('eval', 'completed', false));
    jest.setSystemTime(20_000);
    // One episode a second: 20 more of the baseline, 100 of training, 40 of the final evaluation.
    expect(phaseGoal(run, 40, observer)).toEqual({ done: 0.5, secondsLeft: 160 });
    // On a machine five times slower, the time limit ends training: 95 % of 14 minutes, less two evaluations of 200 s.
    jest.setSystemTime(100_000);
    expect(phaseGoal(run, 40, observer).secondsLeft).toBeCloseTo(100 + (14 * 60 * 0.95 - 400) + 200, 0);
    jest.setSystemTime(40_000);
    observer.onEvent({ type: 'phase', runId: 'r', at, phase: 'training' });
    jest.setSystemTime(90_000);
    observer.trainSteps = 5;
    expect(phaseGoal(run, 40, observer)).toEqual({ done: 0.5, secondsLeft: 90 });
    observer.onEvent({ type: 'phase', runId: 'r', at, phase: 'final_eval' });
    for (let i = 0; i < 10; i++) observer.onTrajectory(trajectory('eval', 'completed', false));
    jest.setSystemTime(100_000);
    expect(phaseGoal(run, 40, observer).secondsLeft).toBe(30);
  } finally {
    jest.useRealTimers();
  }
});

test('the steps of a warm start come before those that the run file counts', () => {
  const step = (number: number, metrics: Record<string, number> = {}): RunEvent => ({
    ...{ type: 'train_step', runId: 'r', at, step: number, rolloutIds: [], metrics },
  });
  const [half, whole] = [step(5, { 'warm_start/done_frac': 0.5 }), step(10, { 'warm_start/done_frac': 1 })];
  const doneIn = (max_steps: number, only: boolean, ...events: RunEvent[]) => {
    const run = {
      training: { max_minutes: 10, total_minutes: 0, max_steps, warm_start: { only } },
      evaluation: { baseline: true },
    } as RunFile;
    const observer = observed({ type: 'phase', runId: 'r', at, phase: 'training' }, ...events);
    return phaseGoal(run, 0, observer, observer.phaseSince + 6_000).done;
  };
  expect(doneIn(90, false, step(45))).toBe(0.5);
  expect(doneIn(90, false, half)).toBe(0.05);
  expect(doneIn(90, false, half, whole, step(50))).toBe(0.5);
  expect(doneIn(90, true, half)).toBe(0.5);
  // Only a time limit ends it.
  expect(doneIn(0, false, half, whole)).toBe(0.01);
});

test('where the last checkpoint is worse than an earlier one, table and report show both', () => {
  const earlier = Object.assign(evaluation('periodic', 'train_goals', 18, 32), {
    ...{ policyVersion: 60, checkpoint: 'uirl://r/sampler_weights/000060' },
  });
  const observer = observed(
    evaluation('baseline', 'train_goals', 0, 32),
    earlier,
    evaluation('final', 'train_goals', 0, 32),
  );
  const table = beforeAfterTable(observer);
  expect(table).toMatch(/Turn on Wi-Fi +0\/32 +0\/32/);
  expect(table).toContain('the result of the run: uirl://r/sampler_weights/000060');
  expect(table).toMatch(/step 60 .* 56 % {2}\[39–72\]/);
  expect(table).not.toContain('warm start');
  const report = quickstartReport(observer, { seed: 0, wallSeconds: 1, setupSeconds: 1, peakRss: {} });
  expect(report).toMatchObject({
    ...{ final: { success_rate: 0 }, best: { step: 60, success_rate: 0.5625, n: 32 } },
    checkpoint: earlier.checkpoint,
  });
});

test('table and report show what the warm start has reached', () => {
  const observer = observed(
    evaluation('baseline', 'train_goals', 0, 32),
    Object.assign(evaluation('warm_start', 'train_goals', 28, 32), { policyVersion: 200 }),
    evaluation('final', 'train_goals', 31, 32),
  );
  const table = beforeAfterTable(observer);
  expect(table).toMatch(/^Training goals, unseen seeds +before +after warm start +after$/m);
  expect(table).toMatch(/Turn on Wi-Fi +0\/32 +28\/32 +31\/32$/m);
  expect(table).toMatch(/ 0 % .* 88 % .* 97 % /);
  const report = quickstartReport(observer, { seed: 0, wallSeconds: 1, setupSeconds: 1, peakRss: {} });
  expect(report).toMatchObject({ warm_start: { success_rate: 0.875, n: 32 }, best: null });
  expect(report.eval_unseen).toEqual({ baseline: null, warm_start: null, final: null });
});

test('table and report show both sets before and after', () => {
  const observer = observed(
    evaluation('baseline', 'train_goals', 1),
    evaluation('final', 'train_goals', 4),
    evaluation('baseline', 'eval_goals', 2),
    evaluation('final', 'eval_goals', 3),
    {
      type: 'checkpoint',
      runId: 'r',
      at,
      step: 3,
      name: 'uirl://r/sampler_weights/000003',
      path: '/runs/r/3',
      adapterDigest: '',
    },
  );
  const table = beforeAfterTable(observer);
  expect(table).toMatch(/Turn on Wi-Fi +1\/4 +4\/4/);
  expect(table).toMatch(/25 % .* 100 %/);
  const report = quickstartReport(observer, {
    seed: 7,
    wallSeconds: 60,
    setupSeconds: 2,
    peakRss: { learner: 5 },
  });
  expect(report).toMatchObject({
    seed: 7,
    baseline: { success_rate: 0.25, n: 4 },
    final: { success_rate: 1, n: 4 },
    eval_unseen: { baseline: { success_rate: 0.5 }, final: { success_rate: 0.75 } },
    wall_seconds: 60,
    setup_seconds: 2,
    best: null,
    checkpoint: 'uirl://r/sampler_weights/000003',
    peak_rss_bytes: { learner: 5 },
  });
});
