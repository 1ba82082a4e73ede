import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BusService } from '@ui-rl/bus';
import {
  type PhaseEvent,
  type RolloutRequest,
  runKeys,
  SEED_RANGES,
  STREAMS,
  subjects,
} from '@ui-rl/contracts';
import { eventually, freePort, startFromSource, startNats } from '@ui-rl/testkit';
import { config, GROUP_SIZE, groupsOf, LoaderWorld, training } from '../test/loader-world';

const GROUP_FIELDS = ['groupId', 'seed', 'groupIndex', 'policy', 'purpose', 'attempt'] as const;

let world: LoaderWorld;

beforeAll(async () => {
  world = await LoaderWorld.open();
});
afterEach(() => world.endTest());
afterAll(() => world.close());

describe('task-loader', () => {
  it('releases groups only in training, and only as many as the learner requests', async () => {
    const runId = await world.createRun('baseline');
    const seen = await world.collect(runId);
    await world.request(runId, 2);
    await world.startLoader(runId);
    await world.turns(runId, seen);
    expect(training(seen)).toHaveLength(0);
    await world.bus.runs.changePhase(runId, 'training');
    await eventually('2 groups', () => training(seen).length >= 2 * GROUP_SIZE);
    await world.turns(runId, seen);
    expect(training(seen)).toHaveLength(2 * GROUP_SIZE);
    await world.request(runId, 5);
    await eventually('5 groups', () => training(seen).length >= 5 * GROUP_SIZE);
    await world.turns(runId, seen);
    expect(training(seen)).toHaveLength(5 * GROUP_SIZE);
    expect(await world.bus.runs.loader(runId)).toEqual({ groupsReleased: 5, announced: 5 });
    await world.bus.runs.changePhase(runId, 'final_eval');
    await world.request(runId, 7);
    await world.turns(runId, seen);
    expect(training(seen)).toHaveLength(5 * GROUP_SIZE);
  });

  it('gives a group one task and one start, and each of its rollouts a sampling seed', async () => {
    const runId = await world.createRun();
    const seen = await world.collect(runId);
    await world.request(runId, 8);
    await world.startLoader(runId);
    await eventually('8 groups', () => seen.length >= 8 * GROUP_SIZE);
    // In turns: the episodes of a group share a start, and can share a browser tab one after the other.
    expect(seen.map(({ groupIndex }) => groupIndex)).toEqual([0, 1, 2].flatMap(() => [...Array(8).keys()]));
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
      const runId = await world.createRun('training', { training: { max_steps: 10, ...training } });
      const seen = await world.collect(runId);
      await world.request(runId, 4);
      await world.startLoader(runId);
      await eventually('4 groups', () => seen.length >= 4 * GROUP_SIZE);
      return seen.map(({ task, seed, samplingSeed }) => [task.id, seed, samplingSeed]);
    };
    const first = await what({ seed: 5 });
    expect(await what({ seed: 5 })).toEqual(first);
    expect(await what({ seed: 6 })).not.toEqual(first);
  });

  it('neither loses nor doubles a group when it is killed over and over', async () => {
    const GROUPS = 800;
    const runId = await world.createRun();
    await world.request(runId, GROUPS);
    const consumer = await world.collect(runId);
    const released = async () => (await world.bus.runs.loader(runId))?.groupsReleased ?? 0;
    let before = 0;
    for (let kill = 0; kill < 2; kill += 1) {
      const service = startFromSource('task-loader', { NATS_URL: world.nats.url, UIRL_RUN: runId });
      await eventually('a further group', async () => (await released()) > before, 20_000, 1);
      await service.kill();
      before = await released();
      expect(before).toBeLessThan(GROUPS);
    }
    const service = startFromSource('task-loader', { NATS_URL: world.nats.url, UIRL_RUN: runId });
    world.ends.push(() => service.stop());
    await eventually('all groups', async () => (await released()) === GROUPS, 60_000);
    await eventually('all rollouts', () => consumer.length >= GROUPS * GROUP_SIZE, 60_000);
    await world.allSeen(runId);
    expect(consumer).toHaveLength(GROUPS * GROUP_SIZE);
    expect(new Set(consumer.map(({ rolloutId }) => rolloutId)).size).toBe(GROUPS * GROUP_SIZE);
  });

  it('publishes a group that was not counted again under the same ids', async () => {
    const runId = await world.createRun();
    const seen = await world.collect(runId);
    await world.request(runId, 3);
    await world.startLoader(runId);
    await eventually('3 groups', async () => (await world.bus.runs.loader(runId))?.groupsReleased === 3);
    await world.ends.pop()?.();
    await world.bus.runsBucket.put(`${runId}.loader`, { groupsReleased: 2 });
    await world.startLoader(runId);
    await eventually('group 3 again', async () => (await world.bus.runs.loader(runId))?.groupsReleased === 3);
    await world.allSeen(runId);
    expect(seen).toHaveLength(3 * GROUP_SIZE);
  });

  it.each([
    [
      'knows of fewer groups',
      (runId: string) => world.bus.runsBucket.put(runKeys.loader(runId), { groupsReleased: 2 }),
    ],
    ['knows of none', (runId: string) => world.forgetKey(runKeys.loader(runId))],
  ])('continues when the broker comes back and %s', async (_, lose) => {
    const runId = await world.createRun();
    const seen = await world.collect(runId);
    await world.request(runId, 3);
    await world.startLoader(runId);
    await eventually('3 groups', async () => (await world.bus.runs.loader(runId))?.groupsReleased === 3);
    await lose(runId);
    await world.nats.kill();
    await world.nats.launch();
    await eventually(
      '3 groups again',
      async () => (await world.bus.runs.loader(runId))?.groupsReleased === 3,
    );
    await world.request(runId, 4);
    await eventually('group 4', async () => (await world.bus.runs.loader(runId))?.groupsReleased === 4);
    // A broker that was killed may redeliver acknowledged messages.
    const released = () => new Set(seen.map(({ rolloutId }) => rolloutId)).size;
    await eventually('all of them', () => released() === 4 * GROUP_SIZE);
    expect(new Set(seen.map(({ groupIndex }) => groupIndex))).toEqual(new Set([0, 1, 2, 3]));
  });

  it('publishes the phase of a run if the service that changed it ended before the event', async () => {
    const runId = await world.createRun('baseline');
    const phases: string[] = [];
    const consumption = await world.bus.consume<PhaseEvent>({
      stream: STREAMS.events,
      durable: `phases-${runId}`,
      subject: subjects.event(runId, 'phase'),
      handle: async ({ phase }) => void phases.push(phase),
    });
    world.ends.push(() => consumption.stop());
    await world.startLoader(runId);
    await world.bus.runsBucket.put(runKeys.state(runId), {
      phase: 'training',
      since: new Date().toISOString(),
    });
    await eventually('the phase', () => phases.includes('training'));
    await world.bus.runs.changePhase(runId, 'final_eval');
    await eventually('the next one', () => phases.includes('final_eval'));
    expect(phases).toEqual(['baseline', 'training', 'final_eval']);
  });

  it('leaves out what the learner has taken out, and forgets that for no group that is released again', async () => {
    const runId = await world.createRun();
    const seen = await world.collect(runId);
    await world.request(runId, 4);
    await world.startLoader(runId);
    await eventually('a whole epoch', () => seen.length >= 4 * GROUP_SIZE);
    const out = seen[0].task.id!;
    await world.request(runId, 13, [out]);
    await eventually('13 groups', () => seen.length >= 13 * GROUP_SIZE);
    const taskOf = (group: RolloutRequest[]) => group[0].task.id;
    expect(groupsOf(seen).slice(4).map(taskOf)).not.toContain(out);
    expect(await world.bus.runs.loader(runId)).toEqual({
      groupsReleased: 13,
      announced: 13,
      takenOut: [{ task: out, fromGroup: 4 }],
    });
    await world.ends.pop()?.();
    // The last group may be published already, with the task that is taken out now.
    await world.bus.runsBucket.put(`${runId}.loader`, {
      groupsReleased: 12,
      announced: 13,
      takenOut: [{ task: out, fromGroup: 4 }],
    });
    await world.request(runId, 14);
    await world.startLoader(runId);
    await eventually('group 14', async () => (await world.bus.runs.loader(runId))?.groupsReleased === 14);
    await world.allSeen(runId);
    expect(seen).toHaveLength(14 * GROUP_SIZE);
    expect(taskOf(groupsOf(seen)[13])).not.toBe(out);
  });

  it('chooses tasks by what came of their groups, and the same again after it ended, also when the events of that are gone', async () => {
    const curriculum = { by: 'success', least_episodes: GROUP_SIZE, explore: 0 };
    const changes = { rollout: { group_size: GROUP_SIZE, curriculum } };
    const runs = await Promise.all([
      world.createRun('training', changes),
      world.createRun('training', changes),
      world.createRun('training', changes),
    ]);
    const released: string[][] = [];
    for (const [run, runId] of runs.entries()) {
      const seen = await world.collect(runId);
      await world.startLoader(runId);
      const learnable = new Set<string>();
      for (let step = 0; step < 4; step += 1) {
        const wanted = 4 * (step + 1);
        await world.request(runId, wanted, [], step);
        if (step > 0) {
          // Choices wait for the results, which arrive after the demand.
          const groups = groupsOf(seen)
            .slice(-4)
            .map(([{ groupIndex, task }], index) => {
              const score = step === 1 && index < 2 ? 0.5 : step === 1 ? 0 : 0.5;
              if (score > 0) learnable.add(task.id!);
              return { group: groupIndex, task: task.id!, episodes: GROUP_SIZE, score };
            });
          const event = { type: 'train_step' as const, runId, step, rolloutIds: [], groups, metrics: {} };
          await world.bus.event(event, String(step));
        }
        await eventually(`${wanted} groups`, () => seen.length >= wanted * GROUP_SIZE);
        // From the second time on, the process ends between two steps.
        if (run > 0 && step === 1) {
          await world.ends.pop()?.();
          if (run === 2) await world.forgetSteps(runId);
          await world.startLoader(runId);
        }
      }
      const groups = groupsOf(seen);
      expect(new Set(groups.slice(0, 4).map(([{ task }]) => task.id)).size).toBe(4);
      expect(new Set(groups.slice(4).map(([{ task }]) => task.id))).toEqual(learnable);
      expect(groups[4][0].curriculum).toEqual({
        ...{ reason: 'measured', inBand: 2, tooHard: 2, tooEasy: 0, unmeasured: 0, waiting: 0 },
      });
      expect(groups.every((group) => new Set(group.map(({ task }) => task.id)).size === 1)).toBe(true);
      released.push(groups.map(([{ task }]) => task.id!));
    }
    expect(released[1]).toEqual(released[0]);
    expect(released[2]).toEqual(released[0]);
  });

  it('chooses by what it has measured also where the broker takes no state that is so large', async () => {
    const small = await LoaderWorld.open({ maxPayload: 64 * 1024 });
    try {
      const path = join(small.folder, 'tasks.jsonl');
      const checks = [{ path: 'open', operator: 'equals', value: true }];
      const ids = Array.from({ length: 6_000 }, (_, place) => `t${place}`);
      writeFileSync(path, ids.map((id) => JSON.stringify({ id, description: id, checks })).join('\n'));
      const tasks = [{ source_type: 'file', path: await small.bus.files.share(path) }];
      const curriculum = { by: 'success', least_episodes: GROUP_SIZE, explore: 0 };
      const runId = await small.createRun('training', {
        tasks,
        rollout: { group_size: GROUP_SIZE, curriculum },
      });
      const seen = await small.collect(runId);
      await small.startLoader(runId);
      // Only one of the tasks can be learned from.
      const groups = ids.map((task, group) => {
        return { group, task, episodes: GROUP_SIZE, score: task === 't1234' ? 1 / 3 : 0 };
      });
      const event = { type: 'train_step' as const, runId, step: 1, rolloutIds: [], groups, metrics: {} };
      await small.bus.event(event, '1');
      await small.request(runId, 1, [], 1);
      await eventually('a group', () => seen.length >= GROUP_SIZE);
      expect(seen[0].task.id).toBe('t1234');
      const state = await eventually('its state', async () => {
        const found = await small.bus.runs.loader(runId);
        return found?.groupsReleased === 1 ? found : null;
      });
      expect(state.measured).toBeUndefined();
    } finally {
      await small.endTest();
      await small.close();
    }
  });

  it('refuses tasks that nothing can judge, unless a reward does', async () => {
    const tasks = [{ source_type: 'custom', custom_tasks: [{ id: 'book', description: 'Book a flight' }] }];
    const runId = await world.createRun('training', { tasks });
    await world.startLoader(runId);
    const state = await eventually('the end', async () => {
      const found = await world.bus.runs.state(runId);
      return found?.phase === 'failed' ? found : null;
    });
    expect(state.reason).toMatch(
      /1 of 1 tasks have no checks that say whether they succeeded?: "book"|no checks/,
    );
  });

  it('shares a run with another task-loader', async () => {
    const runId = await world.createRun();
    const seen = await world.collect(runId);
    await Promise.all([world.startLoader(runId), world.startLoader(runId)]);
    const [stopFirst, stopSecond] = world.ends.splice(-2);
    for (let requested = 1; requested <= 20; requested += 1) await world.request(runId, requested);
    await eventually('20 groups', async () => (await world.bus.runs.loader(runId))?.groupsReleased === 20);
    await Promise.all([stopFirst(), stopSecond()]);
    await world.allSeen(runId);
    expect(seen.map(({ rolloutId }) => rolloutId)).toEqual([
      ...new Set(seen.map(({ rolloutId }) => rolloutId)),
    ]);
    expect(seen).toHaveLength(20 * GROUP_SIZE);
  });

  it('waits for NATS and for a run, and says so', async () => {
    const port = await freePort();
    const service = startFromSource('task-loader', { NATS_URL: `nats://127.0.0.1:${port}` });
    world.ends.push(() => service.kill());
    await service.prints(/waiting for NATS at nats:\/\/127\.0\.0\.1/);
    const late = await startNats({ port });
    world.ends.push(() => late.stop());
    await service.prints(/waiting for a run/);
    const other = await BusService.connect({ service: 'test', servers: [late.url] });
    world.ends.push(() => other.close());
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

  it('reads tasks from a file that was uploaded from a machine that is gone', async () => {
    const path = join(world.folder, 'tasks.jsonl');
    const checks = [{ path: 'open', operator: 'equals', value: true }];
    const line = (id: string) =>
      `${JSON.stringify({ id, description: `Open ${id.toUpperCase()}`, checks })}\n`;
    writeFileSync(path, line('a') + line('b'));
    const address = await world.bus.files.share(path);
    rmSync(path);
    const runId = await world.createRun('training', { tasks: [{ source_type: 'file', path: address }] });
    const seen = await world.collect(runId);
    await world.request(runId, 2);
    await world.startLoader(runId);
    await eventually('2 groups', () => seen.length >= 2 * GROUP_SIZE);
    expect(new Set(seen.map(({ task }) => task.description))).toEqual(new Set(['Open A', 'Open B']));
  });

  it.each([
    ['cannot be loaded', { source_type: 'demo_trainnig' }, /"demo_trainnig"/],
    [
      'are named by a path of some machine',
      { source_type: 'file', path: __filename },
      /run run-\d+: tasks\[0\]\.path is the path .*task-loader\.spec\.ts on another machine, expected an address/,
    ],
    [
      'not uploaded',
      { source_type: 'file', path: `uirl://file/${'0'.repeat(64)}/tasks.jsonl` },
      /tasks\[0\]\.path is uirl:.*no user has shared sha256 0+ at this broker/,
    ],
  ])('fails a run whose tasks %s, with the reason', async (_, tasks, reason) => {
    const runId = await world.createRun('training', { tasks: [tasks] });
    await world.startLoader(runId);
    const state = await eventually('the end', async () => {
      const found = await world.bus.runs.state(runId);
      return found?.phase === 'failed' ? found : null;
    });
    expect(state.reason).toMatch(reason);
  });
});
