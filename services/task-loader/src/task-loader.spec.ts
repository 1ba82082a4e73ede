import 'reflect-metadata';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { Logger } from '@nestjs/common';
import { BusService, type Consumption, type DeadLetter } from '@ui-rl/bus';
import {
  ANY,
  BUCKETS,
  type PhaseEvent,
  type PolicyState,
  RolloutRequest,
  runKeys,
  SEED_RANGES,
  STREAMS,
  subjects,
} from '@ui-rl/contracts';
import { openApplication } from '@ui-rl/service';
import { loadComponents } from '@ui-rl/plugin-kit';
import { drained, eventually, freePort, type NatsServer, startFromSource, startNats } from '@ui-rl/testkit';
import { TaskLoaderModule } from './task-loader.module';

Logger.overrideLogger(false);

const GROUP_SIZE = 3;
const GROUP_FIELDS = ['groupId', 'seed', 'groupIndex', 'policy', 'purpose', 'attempt'] as const;
const config = {
  model: { name: 'any' },
  tasks: [{ source_type: 'demo_training', category: 'settings', limit: 4 }],
  eval_tasks: [{ source_type: 'demo_eval', limit: 2 }],
  rollout: { group_size: GROUP_SIZE },
  training: { seed: 5, max_steps: 10 },
};

describe('task-loader', () => {
  let nats: NatsServer;
  let bus: BusService;
  let folder: string;
  let runs = 0;
  const ends: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'uirl-loader-'));
    nats = await startNats();
    bus = await BusService.connect({ service: 'test', servers: [nats.url] });
  });
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });
  afterAll(async () => {
    await bus.close();
    await nats.stop();
    rmSync(folder, { recursive: true });
  });

  async function startLoader(runId: string): Promise<void> {
    const own = await BusService.connect({ service: 'task-loader', servers: [nats.url] });
    const app = await openApplication(
      own,
      TaskLoaderModule.forRoot({
        runId,
        components: await loadComponents(),
        cacheDir: join(folder, 'cache'),
        housekeeping: { everyMs: 100 },
      }),
    );
    ends.push(async () => {
      await app.close();
      await own.close();
    });
  }

  async function createRun(
    phase: 'baseline' | 'training' = 'training',
    changes: object = {},
  ): Promise<string> {
    const runId = `run-${(runs += 1)}`;
    const record = { runId, createdAt: new Date().toISOString(), config: { ...config, ...changes } };
    await bus.runs.create(record, phase);
    ends.push(() => bus.runs.changePhase(runId, 'stopped'));
    return runId;
  }

  async function request(runId: string, groupsRequested: number, takenOut: string[] = []): Promise<void> {
    const policy: PolicyState = {
      epoch: 0,
      version: 0,
      adapterDigest: 'base',
      checkpoint: 'latest',
      groupsRequested,
      takenOut,
    };
    await bus.runs.putPolicy(runId, policy);
  }

  /** Everything that is released for a run, in order; a rollout that is stored twice is seen twice. */
  async function collect(runId: string): Promise<RolloutRequest[]> {
    const seen: RolloutRequest[] = [];
    const consumption: Consumption = await bus.consume<RolloutRequest>({
      stream: STREAMS.rollouts,
      durable: `actors-${runId}`,
      subject: subjects.rollout(runId, ANY),
      schema: RolloutRequest,
      handle: async (rollout) => {
        seen.push(rollout);
      },
    });
    ends.push(() => consumption.stop());
    return seen;
  }

  /** As if it had never been written. */
  async function forgetKey(key: string): Promise<void> {
    const jsm = await jetstreamManager(bus.connection);
    await jsm.streams.purge(`KV_${BUCKETS.runs}`, { filter: `$KV.${BUCKETS.runs}.${key}` });
  }

  const groupsOf = (rollouts: RolloutRequest[]) =>
    [...new Set(rollouts.map(({ groupId }) => groupId))].map((id) =>
      rollouts.filter(({ groupId }) => groupId === id),
    );
  const training = (rollouts: RolloutRequest[]) => rollouts.filter(({ purpose }) => purpose === 'train');
  const allSeen = (runId: string) => drained(bus, STREAMS.rollouts, `actors-${runId}`);

  /** Lets the service take two tasks, one after the other: what it was told before, it has acted upon. */
  async function turns(runId: string, seen: RolloutRequest[]): Promise<void> {
    for (let turn = 0; turn < 2; turn += 1) {
      const before = seen.length - training(seen).length;
      await bus.runs.publishTask(runId, { description: 'Go home' }, `${runId}-turn-${before}`);
      await eventually('a turn', () => seen.length - training(seen).length > before);
    }
  }

  it('releases groups only in training, and only as many as the learner requests', async () => {
    const runId = await createRun('baseline');
    const seen = await collect(runId);
    await request(runId, 2);
    await startLoader(runId);
    await turns(runId, seen);
    expect(training(seen)).toHaveLength(0);
    await bus.runs.changePhase(runId, 'training');
    await eventually('2 groups', () => training(seen).length >= 2 * GROUP_SIZE);
    await turns(runId, seen);
    expect(training(seen)).toHaveLength(2 * GROUP_SIZE);
    await request(runId, 5);
    await eventually('5 groups', () => training(seen).length >= 5 * GROUP_SIZE);
    await turns(runId, seen);
    expect(training(seen)).toHaveLength(5 * GROUP_SIZE);
    expect(await bus.runs.loader(runId)).toEqual({ groupsReleased: 5 });
    await bus.runs.changePhase(runId, 'final_eval');
    await request(runId, 7);
    await turns(runId, seen);
    expect(training(seen)).toHaveLength(5 * GROUP_SIZE);
  });

  it('gives a group one task and one start, and each of its rollouts a sampling seed', async () => {
    const runId = await createRun();
    const seen = await collect(runId);
    await request(runId, 8);
    await startLoader(runId);
    await eventually('8 groups', () => seen.length >= 8 * GROUP_SIZE);
    const groups = groupsOf(seen);
    for (const [index, group] of groups.entries()) {
      expect(group.map(({ rolloutId }) => rolloutId)).toEqual(
        [0, 1, 2].map((place) => `${runId}-g00000${index}-r${place}`),
      );
      expect(group.map(({ indexInGroup }) => indexInGroup)).toEqual([0, 1, 2]);
      for (const field of GROUP_FIELDS) expect(new Set(group.map((rollout) => rollout[field])).size).toBe(1);
      expect(new Set(group.map(({ task }) => task.id)).size).toBe(1);
      expect(new Set(group.map(({ samplingSeed }) => samplingSeed)).size).toBe(GROUP_SIZE);
      expect(group[0]).toMatchObject({
        groupIndex: index,
        groupSize: GROUP_SIZE,
        purpose: 'train',
        attempt: 0,
      });
      expect(group[0].seed).toBeLessThan(SEED_RANGES.training.first + SEED_RANGES.training.count);
    }
    expect(new Set(groups.map(([{ seed }]) => seed)).size).toBe(8);
    const epochs = [groups.slice(0, 4), groups.slice(4)].map((epoch) => epoch.map(([{ task }]) => task.id));
    expect(new Set(epochs[0]).size).toBe(4);
    expect(new Set(epochs[1])).toEqual(new Set(epochs[0]));
  });

  it('repeats tasks and seeds in a further run with the same seed, and not with another', async () => {
    const what = async (training: object) => {
      const runId = await createRun('training', { training: { max_steps: 10, ...training } });
      const seen = await collect(runId);
      await request(runId, 4);
      await startLoader(runId);
      await eventually('4 groups', () => seen.length >= 4 * GROUP_SIZE);
      return seen.map(({ task, seed, samplingSeed }) => [task.id, seed, samplingSeed]);
    };
    const first = await what({ seed: 5 });
    expect(await what({ seed: 5 })).toEqual(first);
    expect(await what({ seed: 6 })).not.toEqual(first);
  });

  it('neither loses nor doubles a group when it is killed over and over', async () => {
    const GROUPS = 800;
    const runId = await createRun();
    await request(runId, GROUPS);
    const consumer = await collect(runId);
    const released = async () => (await bus.runs.loader(runId))?.groupsReleased ?? 0;
    let before = 0;
    for (let kill = 0; kill < 2; kill += 1) {
      const service = startFromSource('task-loader', { NATS_URL: nats.url, UIRL_RUN: runId });
      await eventually('a further group', async () => (await released()) > before, 20_000, 1);
      await service.kill();
      before = await released();
      expect(before).toBeLessThan(GROUPS);
    }
    const service = startFromSource('task-loader', { NATS_URL: nats.url, UIRL_RUN: runId });
    ends.push(() => service.stop());
    await eventually('all groups', async () => (await released()) === GROUPS, 60_000);
    await eventually('all rollouts', () => consumer.length >= GROUPS * GROUP_SIZE, 60_000);
    await allSeen(runId);
    expect(consumer).toHaveLength(GROUPS * GROUP_SIZE);
    expect(new Set(consumer.map(({ rolloutId }) => rolloutId)).size).toBe(GROUPS * GROUP_SIZE);
  });

  it('publishes a group that was not counted again under the same ids', async () => {
    const runId = await createRun();
    const seen = await collect(runId);
    await request(runId, 3);
    await startLoader(runId);
    await eventually('3 groups', async () => (await bus.runs.loader(runId))?.groupsReleased === 3);
    await ends.pop()?.();
    await bus.runsBucket.put(`${runId}.loader`, { groupsReleased: 2 });
    await startLoader(runId);
    await eventually('group 3 again', async () => (await bus.runs.loader(runId))?.groupsReleased === 3);
    await allSeen(runId);
    expect(seen).toHaveLength(3 * GROUP_SIZE);
  });

  it.each([
    [
      'knows of fewer groups',
      (runId: string) => bus.runsBucket.put(runKeys.loader(runId), { groupsReleased: 2 }),
    ],
    ['knows of none', (runId: string) => forgetKey(runKeys.loader(runId))],
  ])('goes on where it was when the broker comes back and %s', async (_, lose) => {
    const runId = await createRun();
    const seen = await collect(runId);
    await request(runId, 3);
    await startLoader(runId);
    await eventually('3 groups', async () => (await bus.runs.loader(runId))?.groupsReleased === 3);
    await lose(runId);
    await nats.kill();
    await nats.launch();
    await eventually('3 groups again', async () => (await bus.runs.loader(runId))?.groupsReleased === 3);
    await request(runId, 4);
    await eventually('group 4', async () => (await bus.runs.loader(runId))?.groupsReleased === 4);
    // A broker that was killed may deliver again what was acknowledged.
    const released = () => new Set(seen.map(({ rolloutId }) => rolloutId)).size;
    await eventually('all of them', () => released() === 4 * GROUP_SIZE);
    expect(new Set(seen.map(({ groupIndex }) => groupIndex))).toEqual(new Set([0, 1, 2, 3]));
  });

  it('publishes the phase that a run is in where whoever changed it did not come to that', async () => {
    const runId = await createRun('baseline');
    const phases: string[] = [];
    const consumption = await bus.consume<PhaseEvent>({
      stream: STREAMS.events,
      durable: `phases-${runId}`,
      subject: subjects.event(runId, 'phase'),
      handle: async ({ phase }) => void phases.push(phase),
    });
    ends.push(() => consumption.stop());
    await startLoader(runId);
    await bus.runsBucket.put(runKeys.state(runId), { phase: 'training', since: new Date().toISOString() });
    await eventually('the phase', () => phases.includes('training'));
    await bus.runs.changePhase(runId, 'final_eval');
    await eventually('the next one', () => phases.includes('final_eval'));
    expect(phases).toEqual(['baseline', 'training', 'final_eval']);
  });

  it('leaves out what the learner has taken out, and forgets that for no group that is released again', async () => {
    const runId = await createRun();
    const seen = await collect(runId);
    await request(runId, 4);
    await startLoader(runId);
    await eventually('a whole epoch', () => seen.length >= 4 * GROUP_SIZE);
    const out = seen[0].task.id!;
    await request(runId, 13, [out]);
    await eventually('13 groups', () => seen.length >= 13 * GROUP_SIZE);
    const taskOf = (group: RolloutRequest[]) => group[0].task.id;
    // The fifth may have been published before.
    expect(groupsOf(seen).slice(5).map(taskOf)).not.toContain(out);
    expect(await bus.runs.loader(runId)).toEqual({
      groupsReleased: 13,
      takenOut: [{ task: out, fromGroup: 5 }],
    });
    await ends.pop()?.();
    await bus.runsBucket.put(`${runId}.loader`, {
      groupsReleased: 12,
      takenOut: [{ task: out, fromGroup: 5 }],
    });
    await request(runId, 14);
    await startLoader(runId);
    await eventually('group 14', async () => (await bus.runs.loader(runId))?.groupsReleased === 14);
    await allSeen(runId);
    expect(seen).toHaveLength(14 * GROUP_SIZE);
    expect(taskOf(groupsOf(seen)[13])).not.toBe(out);
  });

  it('shares a run with another task-loader', async () => {
    const runId = await createRun();
    const seen = await collect(runId);
    await Promise.all([startLoader(runId), startLoader(runId)]);
    const [stopFirst, stopSecond] = ends.splice(-2);
    for (let requested = 1; requested <= 20; requested += 1) await request(runId, requested);
    await eventually('20 groups', async () => (await bus.runs.loader(runId))?.groupsReleased === 20);
    await Promise.all([stopFirst(), stopSecond()]);
    await allSeen(runId);
    expect(seen.map(({ rolloutId }) => rolloutId)).toEqual([
      ...new Set(seen.map(({ rolloutId }) => rolloutId)),
    ]);
    expect(seen).toHaveLength(20 * GROUP_SIZE);
  });

  describe('with tasks that people publish', () => {
    let runId: string;
    let seen: RolloutRequest[];
    const subject = () => subjects.task(runId);
    beforeEach(async () => {
      runId = await createRun('baseline');
      seen = await collect(runId);
      await startLoader(runId);
    });

    const publish = (text: string) => bus.connection.publish(subject(), text);
    const deadLetters = async () => {
      const keys = await bus.deadLetterBucket.keys('TASKS.*.task-loader');
      const records = await Promise.all(keys.map((key) => bus.deadLetterBucket.get<DeadLetter>(key)));
      return records.flatMap((entry) => (entry?.value.subject === subject() ? [entry.value] : []));
    };

    it('rolls a known goal out once, with the checks of its source', async () => {
      publish('{"description":"Turn on Bluetooth"}');
      await eventually('the rollout', () => seen.length > 0);
      const [rollout] = seen;
      expect(rollout).toMatchObject({ purpose: 'eval', groupSize: 1, policy: 'latest', runId });
      expect(rollout.evaluationId).toBeUndefined();
      expect(rollout.task).toMatchObject({ description: 'Turn on Bluetooth', source: 'demo' });
      expect(rollout.task.environment?.kind).toBe('browser');
      expect(rollout.task.checks?.length).toBeGreaterThan(0);
      expect(rollout.seed).toBeGreaterThanOrEqual(SEED_RANGES.published.first);
    });

    it('plays what no source knows where the training tasks are, without a verdict', async () => {
      publish('{"description":"Book a flight to Oslo"}');
      await eventually('the rollout', () => seen.length > 0);
      expect(seen[0].task).toMatchObject({ description: 'Book a flight to Oslo', source: 'published' });
      expect(seen[0].task.id).toMatch(/^task-/);
      expect(seen[0].task.environment?.kind).toBe('browser');
      expect(seen[0].task.checks).toBeUndefined();
    });

    it('takes a task with its own environment as it is', async () => {
      const task = {
        id: 'mine',
        description: 'Turn on Bluetooth',
        maxSteps: 2,
        environment: { kind: 'desktop', options: { display: 3 } },
      };
      publish(JSON.stringify(task));
      await eventually('the rollout', () => seen.length > 0);
      expect(seen[0].task).toEqual({ ...task, source: 'published' });
    });

    it('makes a dead letter of what is no task and goes on', async () => {
      publish('{"description":');
      publish('{}');
      publish('{"description":"   "}');
      publish('[1,2]');
      publish('{"description":"Go home"}');
      await eventually('the good one', () => seen.length > 0);
      const records = await eventually('4 records', async () => {
        const found = await deadLetters();
        return found.length >= 4 ? found : null;
      });
      expect(records.map(({ reason }) => reason).toSorted()).toEqual([
        'description: holds nothing but white space',
        expect.stringContaining('description: '),
        expect.stringContaining('expected an object'),
        expect.stringContaining('not JSON'),
      ]);
      expect(seen).toHaveLength(1);
    });

    it('rolls a task out once where it is published twice under one id', async () => {
      await bus.runs.publishTask(runId, { description: 'Go home' }, 'by-me');
      await bus.runs.publishTask(runId, { description: 'Go home' }, 'by-me');
      await bus.runs.publishTask(runId, { description: 'Go home' }, 'by-you');
      await eventually('both', () => seen.length >= 2);
      await drained(bus, STREAMS.tasks, `task-loader-${runId}`);
      await allSeen(runId);
      expect(seen).toHaveLength(2);
      expect(seen[0].rolloutId).not.toBe(seen[1].rolloutId);
    });

    it('makes a dead letter of a task that comes after the end of the run', async () => {
      publish('{"description":"Go home"}');
      await eventually('the rollout in time', () => seen.length > 0);
      await bus.runs.changePhase(runId, 'finished');
      publish('{"description":"Go home"}');
      const [record] = await eventually('the record', async () => {
        const found = await deadLetters();
        return found.length > 0 ? found : null;
      });
      expect(record.reason).toContain(`run ${runId} has ended (finished)`);
      expect(seen).toHaveLength(1);
      const gone = async () => {
        const reply = await bus.connection.request(`$JS.API.CONSUMER.INFO.TASKS.task-loader-${runId}`, '');
        return 'error' in reply.json<object>();
      };
      await eventually('an end of its consumer', gone);
    });
  });

  it('waits for NATS and for a run, and says so', async () => {
    const port = await freePort();
    const service = startFromSource('task-loader', { NATS_URL: `nats://127.0.0.1:${port}` });
    ends.push(() => service.kill());
    await service.prints(/waiting for NATS at nats:\/\/127\.0\.0\.1/);
    const late = await startNats({ port });
    ends.push(() => late.stop());
    await service.prints(/waiting for a run/);
    const other = await BusService.connect({ service: 'test', servers: [late.url] });
    ends.push(() => other.close());
    await other.runs.create({ runId: 'late', createdAt: new Date().toISOString(), config }, 'training');
    await service.prints(/picked up run late, phase training/);
    await other.runs.putPolicy('late', {
      epoch: 0,
      version: 0,
      adapterDigest: '',
      checkpoint: '',
      groupsRequested: 1,
    });
    await eventually('a group', async () => (await other.runs.loader('late'))?.groupsReleased === 1);
    expect(await service.stop()).toBe(0);
  });

  it('reads tasks from a file that somebody uploaded from a machine that is gone', async () => {
    const path = join(folder, 'tasks.jsonl');
    writeFileSync(path, '{"id":"a","description":"Open A"}\n{"id":"b","description":"Open B"}\n');
    const address = await bus.files.share(path);
    rmSync(path);
    const runId = await createRun('training', { tasks: [{ source_type: 'file', path: address }] });
    const seen = await collect(runId);
    await request(runId, 2);
    await startLoader(runId);
    await eventually('2 groups', () => seen.length >= 2 * GROUP_SIZE);
    expect(new Set(seen.map(({ task }) => task.description))).toEqual(new Set(['Open A', 'Open B']));
  });

  it.each([
    ['cannot be loaded', { source_type: 'demo_trainnig' }, /"demo_trainnig"/],
    [
      'are named by a path of some machine',
      { source_type: 'file', path: __filename },
      /run run-\d+: tasks\[0\]\.path is the path .*task-loader\.spec\.ts on the machine of somebody else, expected an address/,
    ],
    [
      'nobody uploaded',
      { source_type: 'file', path: `uirl://file/${'0'.repeat(64)}/tasks.jsonl` },
      /tasks\[0\]\.path is uirl:.*nobody has shared sha256 0+ at this broker/,
    ],
  ])('fails a run whose tasks %s, with the reason', async (_, tasks, reason) => {
    const runId = await createRun('training', { tasks: [tasks] });
    await startLoader(runId);
    const state = await eventually('the end', async () => {
      const found = await bus.runs.state(runId);
      return found?.phase === 'failed' ? found : null;
    });
    expect(state.reason).toMatch(reason);
  });
});
