import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { Logger } from '@nestjs/common';
import type { KnownRun, MeasuredRun } from '@ui-rl/api';
import { BusService } from '@ui-rl/bus';
import { PauseEvent, STREAMS, subjects } from '@ui-rl/contracts';
import {
  eventually,
  findNatsServer,
  makeRollout,
  makeTask,
  makeTrajectory,
  startNats,
  type NatsServer,
} from '@ui-rl/testkit';
import { runsCommand } from './runs';

Logger.overrideLogger(false);

let nats: NatsServer;
let bus: BusService;
let jsm: JetStreamManager;
let dir: string;
let printed: string[];
const environment = process.env;

beforeEach(async () => {
  nats = await startNats();
  bus = await BusService.connect({ service: 'test', servers: [nats.url] });
  jsm = await jetstreamManager(bus.connection);
  dir = mkdtempSync(join(tmpdir(), 'ui-rl-runs-'));
  process.env = { ...environment, NATS_URL: nats.url };
  printed = [];
  jest.spyOn(console, 'log').mockImplementation((text: string) => void printed.push(text));
});
afterEach(async () => {
  jest.restoreAllMocks();
  process.env = environment;
  rmSync(dir, { recursive: true });
  await bus.close();
  await nats.stop();
});

async function run(...args: string[]): Promise<string> {
  printed.length = 0;
  await runsCommand().parseAsync(args, { from: 'user' });
  return printed.join('\n');
}

async function json<T>(...args: string[]): Promise<T> {
  return JSON.parse(await run(...args, '--json')) as T;
}

/** A run with data of every kind. */
async function createRun(runId: string, createdAt = new Date().toISOString()): Promise<void> {
  await bus.runs.create({ runId, createdAt, config: {} }, 'training');
  await bus.runs.putPolicy(runId, {
    epoch: 0,
    version: 3,
    adapterDigest: 'd',
    checkpoint: 'c',
    groupsRequested: 4,
  });
  await bus.publishJson(subjects.task(runId), makeTask(), `${runId}-task`);
  for (const purpose of ['train', 'eval'] as const) {
    const request = makeRollout({ runId, purpose, rolloutId: `${runId}-${purpose}` });
    await bus.publishJson(subjects.rollout(runId, purpose), request, request.rolloutId);
    await bus.publishJson(
      subjects.trajectory(runId, purpose),
      makeTrajectory({ request }),
      request.rolloutId,
    );
  }
  for (const content of ['one', 'two']) await bus.blobs.of(runId).put(Buffer.from(content));
  const reader = await bus.consume({
    stream: 'TRAJECTORIES',
    durable: `learner-${runId}`,
    subject: subjects.trajectory(runId, 'train'),
    handle: async () => undefined,
  });
  await reader.stop();
  mkdirSync(join(dir, runId));
  writeFileSync(join(dir, runId, 'state.json'), JSON.stringify({ runId }));
  await bus.checkpoints.upload({ runId, step: 3 }, join(dir, runId));
}

/** Number of messages of a run in each stream and bucket. */
async function held(runId: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for await (const { config } of jsm.streams.list()) {
    const { state } = await jsm.streams.info(config.name, { subjects_filter: '>' });
    const own = Object.entries(state.subjects ?? {}).filter(([subject]) =>
      subject.split('.').includes(runId),
    );
    counts[config.name] = own.reduce((sum, [, count]) => sum + count, 0);
  }
  return counts;
}

test('runs are listed, and one is shown with what it occupies', async () => {
  expect(await run('list')).toBe('no run has left anything at this broker');
  await createRun('second', '2026-11-20T12:00:00Z');
  await createRun('first', '2026-11-20T11:00:00Z');
  await bus.publishJson(subjects.task('misspelt'), makeTask(), 'misspelt');
  const [, first, second] = await json<KnownRun[]>('list');
  expect([first, second]).toMatchObject([
    { runId: 'first', phase: 'training', createdAt: '2026-11-20T11:00:00Z', step: 3 },
    { runId: 'second', phase: 'training' },
  ]);
  expect(await run('list')).toMatch(/^misspelt +left over/m);
  const { use } = await json<MeasuredRun>('show', 'first');
  const trajectory = Buffer.byteLength(
    JSON.stringify(makeTrajectory({ request: makeRollout({ runId: 'first', rolloutId: 'first-train' }) })),
  );
  expect(use).toMatchObject({
    messages: [
      { stream: 'TASKS', messages: 1 },
      { stream: 'ROLLOUTS', messages: 2 },
      { stream: 'TRAJECTORIES', messages: 2, bytes: expect.any(Number) },
      { stream: 'EVENTS', messages: 2 },
      { stream: 'BLOBS', messages: 2, bytes: 6 },
    ],
    consumers: [{ stream: 'TRAJECTORIES', name: 'learner-first', waiting: 1 }],
    checkpoints: { steps: [3], files: 2 },
  });
  expect(use.messages[2].bytes).toBeGreaterThan(2 * trajectory - 20);
  expect(use.keys.toSorted()).toEqual(['first.policy', 'first.record', 'first.state']);
  expect(await run('show', 'first')).toMatch(/BLOBS +2 +6 B/);
  await expect(run('show', 'none')).rejects.toThrow(/this broker knows of no run none/);
});

test('a run is paused and continued, which its events say', async () => {
  await createRun('held', '2026-11-20T13:00:00Z');
  expect(await run('pause', 'held', '--reason', 'look')).toBe('run held is paused');
  expect(await run('pause', 'held')).toBe('run held is paused already');
  expect(await bus.runs.pause('held')).toMatchObject({ paused: true, reason: 'look' });
  expect(await json('continue', 'held')).toEqual({ runId: 'held', paused: false, changed: true });
  const told: boolean[] = [];
  for await (const { paused } of bus.stored(STREAMS.events, subjects.event('held', 'pause'), PauseEvent))
    told.push(paused);
  expect(told).toEqual([true, false]);
  await expect(run('pause', 'none')).rejects.toThrow(/this broker knows of no such run/);
  await bus.runs.changePhase('held', 'stopped');
  await bus.runStorage.delete('held');
});

test.each(['refuses', 'says nothing', 'has no JetStream'])(
  'without a broker that can answer, it ends: one that %s',
  async (which) => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    if (which === 'refuses') silent.close();
    const plain = which === 'has no JetStream' ? await plainBroker() : undefined;
    process.env.NATS_URL = plain?.url ?? `nats://127.0.0.1:${port}`;
    try {
      await expect(run('list')).rejects.toThrow(
        which === 'has no JetStream' ? /JetStream/i : /^no broker at .*: npx ui-rl up$/,
      );
    } finally {
      for (const socket of sockets) socket.destroy();
      silent.close();
      await plain?.stop();
    }
  },
  30_000,
);

/** A broker that was started without JetStream. */
async function plainBroker(): Promise<{ url: string; stop: () => Promise<unknown> }> {
  const folder = join(dir, 'plain');
  mkdirSync(folder);
  const child = spawn(findNatsServer(), ['-a', '127.0.0.1', '-p', '-1', '--ports_file_dir', folder]);
  const ended = once(child, 'exit');
  let port = 0;
  await eventually('its port', async () => {
    const [file] = readdirSync(folder);
    if (file === undefined) return false;
    const { nats: urls } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { nats: string[] };
    port = Number(new URL(urls[0]).port);
    return true;
  });
  return {
    url: `nats://127.0.0.1:${port}`,
    stop: () => {
      child.kill();
      return ended;
    },
  };
}

test('a run is stopped once, with a reason', async () => {
  await createRun('going');
  expect(await run('stop', 'going', '--dry-run')).toBe(
    'run going would be stopped; it was in phase training',
  );
  expect((await bus.runs.state('going'))?.phase).toBe('training');
  expect(await json('stop', 'going', '--reason', 'enough')).toEqual({ runId: 'going', was: 'training' });
  expect(await bus.runs.state('going')).toMatchObject({ phase: 'stopped', reason: 'enough' });
  await expect(run('stop', 'going')).rejects.toThrow(/run going has ended already: stopped/);
  await expect(run('stop', 'none')).rejects.toThrow(/knows of no run none/);
});

test('a run that has ended is deleted whole, and nothing of another', async () => {
  await createRun('gone');
  await createRun('kept');
  await expect(run('delete', 'gone')).rejects.toThrow(
    /run gone has not ended \(training\): ui-rl runs stop gone/,
  );
  await run('stop', 'gone');
  const before = { gone: await held('gone'), kept: await held('kept') };
  const files = (await bus.checkpoints.files('kept')).length;
  await expect(run('delete', 'gone', 'kept')).rejects.toThrow(/run kept has not ended/);
  expect(await run('delete', 'gone', '--dry-run')).toMatch(
    /^would be deleted:\ngone: 10 messages, 1 checkpoints, /,
  );
  expect({ gone: await held('gone'), kept: await held('kept') }).toEqual(before);
  const [deleted] = await json<MeasuredRun[]>('delete', 'gone');
  expect(deleted.use.consumers).toHaveLength(1);
  expect(await held('kept')).toEqual(before.kept);
  expect(await bus.checkpoints.files('kept')).toHaveLength(files);
  const { KV_runs: marks, ...rest } = await held('gone');
  expect(Object.values(rest).every((count) => count === 0)).toBe(true);
  expect(marks).toBe(before.gone.KV_runs);
  expect(await bus.runsBucket.keys('gone.*')).toEqual([]);
  expect(await bus.checkpoints.files('gone')).toEqual([]);
  expect((await json<KnownRun[]>('list')).map(({ runId }) => runId)).toEqual(['kept']);
  const again = { runId: 'gone', createdAt: new Date().toISOString(), config: {} };
  await expect(bus.runs.create(again)).rejects.toThrow(
    /run gone was deleted a moment ago: choose another name/,
  );
});

test('runs that ended long ago are deleted together; what only messages are left of, by its name', async () => {
  for (const runId of ['old', 'new', 'open']) await createRun(runId);
  await bus.runsBucket.put('old.state', { phase: 'finished', since: '2026-01-01T00:00:00Z' });
  await bus.runs.changePhase('new', 'stopped');
  await bus.publishJson(subjects.task('misspelt'), makeTask(), 'misspelt');
  await expect(run('delete')).rejects.toThrow(/name runs, or --older-than <days>/);
  const deleted = await json<MeasuredRun[]>('delete', 'misspelt', '--older-than', '30');
  expect(deleted.map(({ runId }) => runId)).toEqual(['misspelt', 'old']);
  expect((await json<KnownRun[]>('list')).map(({ runId }) => runId).toSorted()).toEqual(['new', 'open']);
});
