import 'reflect-metadata';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { BusService, type DeadLetter } from '@ui-rl/bus';
import {
  ANY,
  type EvaluationEvent,
  type OpenEvaluation,
  RolloutRequest,
  type RunEvent,
  type RunPhase,
  SEED_RANGES,
  STREAMS,
  subjects,
  type Trajectory,
  wilson,
} from '@ui-rl/contracts';
import { openApplication } from '@ui-rl/service';
import { loadComponents } from '@ui-rl/plugin-kit';
import {
  drained,
  eventually,
  makeTrajectory,
  type NatsServer,
  startFromSource,
  startNats,
} from '@ui-rl/testkit';
import { EvaluatorModule } from './evaluator.module';
import { planRun } from './plan';
import { RunEvaluator } from './run-evaluator';

Logger.overrideLogger(false);

const EPISODES = 2;
/** 3 training and 2 evaluation tasks. */
const TRAIN = 3 * EPISODES;
const ALL = 5 * EPISODES;
const config = {
  model: { name: '/models/any' },
  tasks: [{ source_type: 'demo_training', limit: 3 }],
  eval_tasks: [{ source_type: 'demo_eval', limit: 2 }],
  training: { seed: 5, max_steps: 20, eval_every: 10 },
  evaluation: { episodes_per_task: EPISODES },
};

type Play = (request: RolloutRequest) => Partial<Trajectory> | null;

describe('evaluator', () => {
  let nats: NatsServer;
  let bus: BusService;
  let runs = 0;
  const ends: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    nats = await startNats();
    bus = await BusService.connect({ service: 'test', servers: [nats.url] });
  });
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });
  afterAll(async () => {
    await bus.close();
    await nats.stop();
  });

  async function createRun(phase: RunPhase = 'baseline', changes: object = {}): Promise<string> {
    const runId = `run-${(runs += 1)}`;
    const record = { runId, createdAt: new Date().toISOString(), config: { ...config, ...changes } };
    await bus.runs.create(record, phase);
    ends.push(() => bus.runs.changePhase(runId, 'stopped'));
    return runId;
  }

  async function startEvaluator(runId: string, plugins: string[] = []): Promise<void> {
    const own = await BusService.connect({ service: 'evaluator', servers: [nats.url] });
    const app = await openApplication(
      own,
      EvaluatorModule.forRoot({ runId, components: await loadComponents({ packages: plugins }) }),
    );
    ends.push(async () => {
      await app.close();
      await own.close();
    });
  }

  /** Plays rollouts with the given outcomes; null leaves one unplayed. Returns all requests it received, repeated ones as often as they came. */
  async function startActor(runId: string, play: Play): Promise<RolloutRequest[]> {
    const requests: RolloutRequest[] = [];
    const consumption = await bus.consume<RolloutRequest>({
      stream: STREAMS.rollouts,
      durable: `actors-${runId}`,
      subject: subjects.rollout(runId, ANY),
      schema: RolloutRequest,
      handle: async (request) => {
        requests.push(request);
        const played = play(request);
        if (played !== null) await publish(request, played);
      },
    });
    ends.push(() => consumption.stop());
    return requests;
  }

  async function publish(request: RolloutRequest, played: Partial<Trajectory>, id = request.rolloutId) {
    const trajectory = makeTrajectory({ request, ...played });
    await bus.publishJson(subjects.trajectory(request.runId, request.purpose), trajectory, id);
  }

  async function follow<T extends RunEvent>(runId: string, type: T['type']): Promise<T[]> {
    const seen: T[] = [];
    const consumption = await bus.consume<T>({
      stream: STREAMS.events,
      durable: `test-${runId}-${type}`,
      subject: subjects.event(runId, type),
      handle: async (event) => {
        seen.push(event);
      },
    });
    ends.push(() => consumption.stop());
    return seen;
  }

  const inPhase = (runId: string, phase: RunPhase) =>
    eventually(`phase ${phase}`, async () => (await bus.runs.state(runId))?.phase === phase);
  const succeeds = () => ({ success: true });
  const checkpoint = (runId: string, step: number) => `uirl://${runId}/sampler_weights/0000${step}`;
  const announceCheckpoint = async (runId: string, step: number) => {
    const event = { path: `/runs/${step}`, adapterDigest: `d${step}`, name: checkpoint(runId, step) };
    await bus.event({ type: 'checkpoint', runId, step, ...event }, String(step));
  };
  const byId = (events: EvaluationEvent[]) =>
    Object.fromEntries(events.map((event) => [event.evaluationId, event]));

  it('evaluates before, during and after training, and moves the run on', async () => {
    const runId = await createRun();
    const evaluations = await follow<EvaluationEvent>(runId, 'evaluation');
    const ready = await follow(runId, 'service_ready');
    const requests = await startActor(runId, ({ purpose, groupIndex }) => ({
      success: purpose === 'baseline' ? groupIndex === 1 : groupIndex !== 0,
    }));
    await startEvaluator(runId);
    await inPhase(runId, 'training');
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

    await announceCheckpoint(runId, 15);
    await announceCheckpoint(runId, 10);
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

    const last = { version: 20, adapterDigest: 'd20', checkpoint: checkpoint(runId, 20), groupsRequested: 0 };
    await bus.runs.putPolicy(runId, last);
    await bus.runs.changePhase(runId, 'final_eval');
    await inPhase(runId, 'finished');
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

  it('plays the same starts before and after, none of them from the range of training', async () => {
    const runId = await createRun();
    const requests = await startActor(runId, succeeds);
    await startEvaluator(runId);
    await inPhase(runId, 'training');
    await bus.runs.changePhase(runId, 'final_eval');
    await inPhase(runId, 'finished');
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
    const runId = await createRun('baseline', { evaluation: { baseline: false } });
    const requests = await startActor(runId, succeeds);
    await startEvaluator(runId);
    await inPhase(runId, 'training');
    expect(requests).toHaveLength(0);
  });

  it('has invalid episodes played again, and counts those that stay invalid', async () => {
    const runId = await createRun('baseline', {
      evaluation: { episodes_per_task: 2, sets: ['train_goals'] },
    });
    const evaluations = await follow<EvaluationEvent>(runId, 'evaluation');
    const requests = await startActor(runId, ({ groupIndex, attempt }) => {
      const invalid = groupIndex === 1 || (groupIndex === 4 && attempt === 0);
      return invalid ? { status: 'invalid', invalidReason: 'crashed', success: null } : { success: true };
    });
    await startEvaluator(runId);
    await inPhase(runId, 'training');
    await eventually('the result', () => evaluations.length > 0);
    expect(evaluations[0]).toMatchObject({ episodes: TRAIN - 1, invalid: 1, successRate: 1 });
    const ids = requests.map(({ rolloutId }) => rolloutId.slice(`${runId}-baseline-train_goals-`.length));
    expect(ids.filter((id) => id.startsWith('0001'))).toEqual(['0001-r0', '0001-r0-a1', '0001-r0-a2']);
    expect(ids.filter((id) => id.startsWith('0004'))).toEqual(['0004-r0', '0004-r0-a1']);
    expect(requests.at(-1)).toMatchObject({ attempt: 2, groupIndex: 1 });
    expect(new Set(requests.filter(({ groupIndex }) => groupIndex === 1).map(({ seed }) => seed)).size).toBe(
      1,
    );
  });

  it('counts an episode once, however often its trajectory comes', async () => {
    const runId = await createRun('baseline', {
      evaluation: { episodes_per_task: 1, sets: ['train_goals'] },
    });
    const evaluations = await follow<EvaluationEvent>(runId, 'evaluation');
    const held: RolloutRequest[] = [];
    await startActor(runId, (request) => {
      held.push(request);
      return null;
    });
    await startEvaluator(runId);
    await eventually('3 rollouts', () => held.length >= 3);
    for (const copy of ['one', 'two', 'three']) await publish(held[0], { success: false }, copy);
    await drained(bus, STREAMS.trajectories, `evaluator-${runId}-baseline`);
    expect((await bus.runs.state(runId))?.phase).toBe('baseline');
    await publish(held[1], { success: true });
    await publish(held[2], { success: true });
    await inPhase(runId, 'training');
    await eventually('the result', () => evaluations.length > 0);
    expect(evaluations[0]).toMatchObject({ episodes: 3, successRate: 2 / 3 });
  });

  it('goes on where it was when it is killed over and over', async () => {
    const runId = await createRun('baseline', { evaluation: { episodes_per_task: 12 } });
    const evaluations = await follow<EvaluationEvent>(runId, 'evaluation');
    let allowed = 0;
    const held: RolloutRequest[] = [];
    const requests = await startActor(runId, (request) => {
      held.push(request);
      return null;
    });
    const feed = async (until: number) => {
      for (; allowed < until; allowed += 1) {
        const request = await eventually(`rollout ${allowed}`, () => held[allowed], 20_000);
        const invalid = request.groupIndex % 10 === 3 && request.attempt === 0;
        await publish(
          request,
          invalid
            ? { status: 'invalid', invalidReason: 'crashed', success: null }
            : { success: request.groupIndex % 2 === 0 },
        );
      }
    };
    const start = () => startFromSource('evaluator', { NATS_URL: nats.url, UIRL_RUN: runId });
    let service = start();
    await feed(1);
    await service.kill();
    await feed(8);
    service = start();
    await feed(30);
    await service.kill();
    service = start();
    ends.push(() => service.kill());
    // 36 training and 24 evaluation episodes, of which 4 and 3 come a second time.
    await feed(67);
    await inPhase(runId, 'training');
    await eventually('both results', () => evaluations.length >= 2);
    await service.stop();
    await drained(bus, STREAMS.events, `test-${runId}-evaluation`);
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

  it('goes on where it was when nats-server is killed', async () => {
    const runId = await createRun('baseline', { evaluation: { episodes_per_task: 8 } });
    const evaluations = await follow<EvaluationEvent>(runId, 'evaluation');
    const held: RolloutRequest[] = [];
    const requests = await startActor(runId, (request) => {
      held.push(request);
      return held.length > 12 ? null : { success: true };
    });
    await startEvaluator(runId);
    await eventually('12 episodes', () => held.length > 12);
    await nats.restart(300);
    await eventually(
      'all rollouts',
      () => new Set(requests.map(({ rolloutId }) => rolloutId)).size === 40,
      40_000,
    );
    for (const request of held.slice(12)) await publish(request, { success: false });
    await inPhase(runId, 'training');
    await eventually('both results', () => evaluations.length >= 2);
    const [first, second] = evaluations;
    expect(first.episodes + second.episodes).toBe(40);
    expect(first.successRate * first.episodes + second.successRate * second.episodes).toBeCloseTo(12);
  });

  it('publishes a result that was complete when the process ended, and then moves on', async () => {
    const runId = await createRun();
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
    await bus.runsBucket.put(`${runId}.evaluator`, { open, stagesDone: [], lastPeriodicStep: 0 });
    const evaluations = await follow<EvaluationEvent>(runId, 'evaluation');
    const requests = await startActor(runId, succeeds);
    await startEvaluator(runId);
    await inPhase(runId, 'training');
    await eventually('both results', () => evaluations.length >= 2);
    expect(byId(evaluations)[`${runId}-baseline-train_goals`]).toMatchObject({
      episodes: 5,
      invalid: 1,
      successRate: 0.8,
    });
    expect(requests).toHaveLength(0);
  });

  it('makes a dead letter of what it cannot read and goes on', async () => {
    const runId = await createRun();
    await startEvaluator(runId);
    bus.connection.publish(subjects.trajectory(runId, 'baseline'), '{"status":"completed"}');
    bus.connection.publish(subjects.trajectory(runId, 'eval'), 'no JSON');
    bus.connection.publish(subjects.event(runId, 'checkpoint'), '{"step":"ten"}');
    const reasons = await eventually('3 records', async () => {
      const keys = await bus.deadLetterBucket.keys('*.*.evaluator');
      const records = await Promise.all(keys.map((key) => bus.deadLetterBucket.get<DeadLetter>(key)));
      return records.length >= 3 ? records.map((entry) => entry?.value.reason) : null;
    });
    expect(reasons).toEqual(
      expect.arrayContaining([
        expect.stringContaining('request: '),
        expect.stringContaining('not JSON'),
        expect.stringContaining('step: must be an integer number, found "ten"'),
      ]),
    );
    await startActor(runId, succeeds);
    await inPhase(runId, 'training');
  });

  it('warns when no episode comes in, once per silence', async () => {
    const runId = await createRun();
    const warnings = await follow(runId, 'warning');
    const record = await bus.runs.record(runId);
    const plan = await planRun(record!, await loadComponents());
    const stop = new AbortController();
    const asked = await startActor(runId, () => null);
    const running = new RunEvaluator(bus, plan, 200).work(stop.signal);
    await eventually('a warning', () => warnings.length > 0);
    await publish(asked[0], { success: true });
    await eventually('another warning', () => warnings.length > 1);
    stop.abort();
    await running;
    await drained(bus, STREAMS.events, `test-${runId}-warning`);
    const waiting = (left: number) => ({
      code: 'stall',
      message: expect.stringContaining(
        `${runId}-baseline-train_goals waits for ${left} of ${TRAIN} episodes`,
      ) as string,
    });
    expect(warnings).toMatchObject([waiting(TRAIN), waiting(TRAIN - 1)]);
  });

  it('leaves out tasks that nothing can verify, and warns', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'uirl-source-'));
    ends.push(async () => rmSync(folder, { recursive: true }));
    const tasks =
      "[{ id: 'free', description: 'Look around', environment: { kind: 'browser', options: {} } }]";
    writeFileSync(
      join(folder, 'free.js'),
      `exports.default = { kind: 'task-source', name: 'free', create: () => ({ load: () => ${tasks} }) };`,
    );
    const runId = await createRun('baseline', { eval_tasks: [{ source_type: 'free' }] });
    const evaluations = await follow<EvaluationEvent>(runId, 'evaluation');
    const warnings = await follow(runId, 'warning');
    await startActor(runId, succeeds);
    await startEvaluator(runId, [join(folder, 'free.js')]);
    await inPhase(runId, 'training');
    await eventually('the result', () => evaluations.length > 0);
    await drained(bus, STREAMS.events, `test-${runId}-warning`);
    expect(evaluations.map(({ set }) => set)).toEqual(['train_goals']);
    expect(warnings).toMatchObject([{ code: 'unchecked_tasks', message: expect.stringContaining('free') }]);
  });

  it('fails a run whose tasks cannot be loaded, with the reason', async () => {
    const runId = await createRun('baseline', {
      eval_tasks: [{ source_type: 'demo_eval', categroy: 'app' }],
    });
    await startEvaluator(runId);
    await inPhase(runId, 'failed');
    expect((await bus.runs.state(runId))?.reason).toContain('categroy');
  });
});
