import type { TrackedEvaluation, TrackedStep, Tracker } from '@ui-rl/plugin-kit';
import { eventually } from '@ui-rl/testkit';
import { FakeMlflow, type FakeRun } from '../test/server';
import mlflow from './index';
import { MlflowRun } from './mlflow-run';
import { RunStore } from './run-store';
import { Server } from './server';

const at = '2026-11-22T00:00:00.000Z';
let server: FakeMlflow;
let open: Tracker[];
let logged: string[];

beforeEach(async () => {
  server = await FakeMlflow.start();
  open = [];
  logged = [];
});
afterEach(async () => {
  server.fault = () => undefined;
  for (const tracker of open) await tracker.close();
  await server.stop();
});

function start(config: object = {}, environment: Record<string, string> = {}): Tracker {
  const context = {
    runId: 'run-1',
    runDir: '/nowhere',
    config: config as Record<string, unknown>,
    environment: { MLFLOW_TRACKING_URI: server.uri, ...environment },
    log: (_level: string, message: string) => void logged.push(message),
  };
  const tracker = mlflow.create({ mlflow_experiment: 'phones' }, context) as Tracker;
  open.push(tracker);
  return tracker;
}

/** Simulates the end of a tracker's process for the server: everything is sent, but the run is not finished. */
async function sent(tracker: Tracker): Promise<void> {
  await tracker.close();
  open = open.filter((each) => each !== tracker);
}

function stepOf(step: number, loss = step / 10): TrackedStep {
  return { step, at, metrics: { 'optim/loss': loss, 'progress/batch': step } };
}

function evaluationAt(step: number): TrackedEvaluation {
  const metrics = { 'test/eval_goals/env/all/success': step / 10 };
  return { step, at, stage: 'periodic', set: 'eval_goals', successRate: step / 10, episodes: 4, metrics };
}

function pointsOf(run: FakeRun, metric: string): [number, number][] {
  return run.metrics.filter(({ key }) => key === metric).map(({ step, value }) => [step, value]);
}

it('makes a run with the run file as its parameters, and has its metrics', async () => {
  const tracker = start({
    training: { learning_rate: 1e-4 },
    rewards: [{ name: 'task-success' }],
    none: null,
  });
  await tracker.resume!(0);
  await tracker.step(stepOf(1));
  await tracker.evaluation!(evaluationAt(1));
  await tracker.step(stepOf(2));
  await sent(tracker);
  const [run, ...others] = server.runs;
  expect(others).toEqual([]);
  expect([...server.experiments.keys()]).toEqual(['phones']);
  expect(run).toMatchObject({
    name: 'run-1',
    status: 'FINISHED',
    tags: new Map([['ui_rl.run_id', 'run-1']]),
  });
  expect(Object.fromEntries(run.params)).toEqual({
    'training.learning_rate': '0.0001',
    'rewards.0.name': 'task-success',
    none: 'null',
  });
  expect(pointsOf(run, 'optim/loss')).toEqual([
    [1, 0.1],
    [2, 0.2],
  ]);
  expect(pointsOf(run, 'test/eval_goals/env/all/success')).toEqual([[1, 0.1]]);
});

it('records nothing twice, with any loss of replies', async () => {
  const lost = new Set<string>();
  let batches = 0;
  server.fault = (path, body) => {
    if (path === 'runs/log-batch' && Array.isArray(body.metrics)) {
      batches += 1;
      return ([undefined, 'lose reply', 'half', 503, 'lose reply', 'half', 429] as const)[batches % 7];
    }
    // The server executes the first of each other request, but its reply is lost.
    if (lost.has(path)) return undefined;
    lost.add(path);
    return 'lose reply';
  };
  const store = new RunStore(new Server({ uri: server.uri }, 5_000));
  const log = (): void => undefined;
  const options = { runId: 'run-1', experiment: 'phones', name: 'run-1', params: { seed: '1' }, log };
  const tracker = new MlflowRun(store, options, { what: '', then: '', firstMs: 1, maxMs: 5 });
  await tracker.resume(0);
  for (let step = 1; step <= 8; step += 1) {
    await tracker.step(stepOf(step));
    await tracker.evaluation(evaluationAt(9 - step));
    await tracker.evaluation(evaluationAt(9 - step));
    await eventually('another request', () => batches >= step);
  }
  await tracker.close();
  expect(server.active).toHaveLength(1);
  const [run] = server.active;
  expect(pointsOf(run, 'optim/loss').map(([step]) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  expect(
    pointsOf(run, 'test/eval_goals/env/all/success')
      .map(([step]) => step)
      .toSorted((a, b) => a - b),
  ).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

it('continues after a restart, without a step twice and without dropped steps', async () => {
  const first = start();
  await first.resume!(0);
  for (const step of [1, 2, 3]) await first.step(stepOf(step));
  await first.evaluation!(evaluationAt(2));
  await sent(first);
  const same = start();
  await same.resume!(3);
  await same.step(stepOf(3, 9));
  await sent(same);
  expect(server.runs).toHaveLength(1);
  expect(pointsOf(server.runs[0], 'optim/loss')).toHaveLength(3);
  const back = start();
  await back.resume!(1);
  await back.step(stepOf(1, 9));
  await back.step(stepOf(2, 9));
  await back.evaluation!(evaluationAt(0));
  await sent(back);
  expect(server.runs).toHaveLength(2);
  const [run, ...others] = server.active;
  expect(others).toEqual([]);
  expect(pointsOf(run, 'optim/loss')).toEqual([
    [1, 0.1],
    [2, 9],
  ]);
  expect(pointsOf(run, 'test/eval_goals/env/all/success')).toEqual([[0, 0]]);
});

it('keeps what is recorded while the server is away, and stays within the limits of a request', async () => {
  const tracker = start();
  server.fault = () => 503;
  await tracker.resume!(0);
  const names = Array.from({ length: 700 }, (_, index) => `env/all/reward/${'x'.repeat(200)}${index}`);
  const metrics = Object.fromEntries(names.map((name) => [name, 1]));
  for (let step = 1; step <= 12; step += 1) await tracker.step({ step, at, metrics });
  expect(server.runs).toEqual([]);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(logged).toEqual([expect.stringMatching(/^ServerError: .*503/)]);
  server.fault = () => undefined;
  await sent(tracker);
  expect(server.runs[0].metrics).toHaveLength(12 * 700);
  expect(server.requests.filter((path) => path === 'runs/log-batch').length).toBeGreaterThanOrEqual(9);
});

it('takes address and secrets from the environment alone', async () => {
  const tracker = start({}, { MLFLOW_TRACKING_TOKEN: 'hush' });
  await tracker.resume!(0);
  await sent(tracker);
  expect(server.authorization).toBe('Bearer hush');
  const named = start({}, { MLFLOW_TRACKING_URI: server.uri.replace('://', '://me:s%20cret@') });
  await named.resume!(0);
  await sent(named);
  expect(server.authorization).toBe(`Basic ${Buffer.from('me:s cret').toString('base64')}`);
  expect(() => start({}, { MLFLOW_TRACKING_URI: '' })).toThrow(/MLFLOW_TRACKING_URI=http:\/\/host:5000/);
});

const ODD_NAMES = [
  'reward/on time?',
  'reward/a(b)',
  'reward/50%',
  'a@b',
  'reward//x',
  'reward/../x',
  '/abs',
  'reward/',
  './a',
  'a/./b',
  '..',
  '',
  'a\nb',
  'a|b',
  'x'.repeat(300),
];

it.each(ODD_NAMES)(
  'stores a metric named %p under a name that MLflow accepts, and says so once',
  async (name) => {
    const tracker = start();
    await tracker.resume!(0);
    for (const step of [1, 2]) await tracker.step({ step, at, metrics: { 'optim/loss': 0.1, [name]: 1 } });
    await sent(tracker);
    const [run] = server.runs;
    expect(pointsOf(run, 'optim/loss')).toEqual([
      [1, 0.1],
      [2, 0.1],
    ]);
    expect(run.metrics).toHaveLength(4);
    expect(logged).toEqual([expect.stringContaining(`metric "${name}" is stored as "`)]);
  },
);

it.each(['reward/a:b', 'reward/ä', 'reward/日本', 'reward/ok name.-_'])(
  'keeps the name %p, which MLflow accepts',
  async (name) => {
    const tracker = start();
    await tracker.resume!(0);
    await tracker.step({ step: 1, at, metrics: { [name]: 1 } });
    await sent(tracker);
    expect(pointsOf(server.runs[0], name)).toEqual([[1, 1]]);
    expect(logged).toEqual([]);
  },
);

it('leaves out a metric whose name another one has', async () => {
  const tracker = start();
  await tracker.resume!(0);
  for (const step of [1, 2]) await tracker.step({ step, at, metrics: { a_b: step, 'a@b': 9 } });
  await sent(tracker);
  expect(pointsOf(server.runs[0], 'a_b')).toEqual([
    [1, 1],
    [2, 2],
  ]);
  expect(logged).toEqual(['metric "a@b" is left out: "a_b" is stored as "a_b" already']);
});

it('stores NaN and infinities', async () => {
  const tracker = start();
  await tracker.resume!(0);
  await tracker.step({ step: 1, at, metrics: { a: NaN, b: Infinity, c: -Infinity, d: 1 } });
  await sent(tracker);
  expect(server.runs[0].metrics.map(({ value }) => value)).toEqual([NaN, Infinity, -Infinity, 1]);
  expect(logged).toEqual([]);
});

it('leaves out what a server refuses, says so once, and stores all the rest', async () => {
  server.onWindows = true;
  const tracker = start();
  await tracker.resume!(0);
  const others = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`env/${index}`, index]));
  for (const step of [1, 2, 3]) {
    await tracker.step({ step, at, metrics: { ...others, 'a:b': 1, 'optim/loss': 0.1, 'c:d': 1 } });
    await tracker.evaluation!(evaluationAt(step));
  }
  await sent(tracker);
  expect(pointsOf(server.runs[0], 'optim/loss')).toHaveLength(3);
  expect(server.runs[0].metrics).toHaveLength(3 * 52);
  expect(logged.toSorted()).toEqual([
    expect.stringMatching(/^metric "a:b" is left out: .* answered with 400/),
    expect.stringMatching(/^metric "c:d" is left out: .* answered with 400/),
  ]);
});
