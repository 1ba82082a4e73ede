import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { BusService } from '@ui-rl/bus';
import { loadComponents, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { readRunFile, type RunFile } from '@ui-rl/settings';
import { startNats, type NatsServer } from '@ui-rl/testkit';
import { announceRun } from './announce';

Logger.overrideLogger(false);

let nats: NatsServer;
let bus: BusService;
let folder: string;
let registry: ComponentRegistry;
let runs = 0;

beforeAll(async () => {
  nats = await startNats();
  bus = await BusService.connect({ service: 'test', servers: [nats.url] });
  folder = mkdtempSync(join(tmpdir(), 'uirl-announce-'));
  mkdirSync(join(folder, 'adapter'));
  writeFileSync(join(folder, 'adapter/adapter_config.json'), '{}');
  writeFileSync(join(folder, 'tasks.jsonl'), '{"id":"a","description":"Open A"}\n');
  registry = await loadComponents();
});
afterAll(async () => {
  await bus.close();
  await nats.stop();
  rmSync(folder, { recursive: true });
});

function read(...flags: string[]): RunFile {
  const options = { model: { name: 'small' }, training: { max_steps: 1 } };
  return readRunFile({ options, flags, workingDir: folder }, registry);
}

const tasks = (path = 'tasks.jsonl') => ['--tasks', JSON.stringify({ source_type: 'file', path })];

/** The run file that services receive; undefined if the run was not announced. */
async function announced(run: RunFile): Promise<RunFile | undefined> {
  const runId = `run-${++runs}`;
  await announceRun(bus, runId, run, registry);
  return (await bus.runs.record(runId))?.config as unknown as RunFile;
}

it('uploads what the run file names on this machine, and names its addresses instead', async () => {
  const run = read(...tasks(), '--model.load_checkpoint', 'adapter');
  const config = (await announced(run))!;
  const { path } = config.tasks[0] as { source_type: string; path: string };
  expect(path).toMatch(/^uirl:\/\/file\/[0-9a-f]{64}\/tasks\.jsonl$/);
  expect(config.model.load_checkpoint).toMatch(/^uirl:\/\/folder\/[0-9a-f]{64}\/adapter$/);
  expect(run.tasks).toEqual([{ source_type: 'file', path: join(folder, 'tasks.jsonl') }]);
  const copy = await bus.files.fetch(path, join(folder, 'cache'));
  expect(readFileSync(copy, 'utf8')).toBe(readFileSync(join(folder, 'tasks.jsonl'), 'utf8'));
  const adapter = await bus.files.fetch(config.model.load_checkpoint!, join(folder, 'cache'));
  expect(readFileSync(join(adapter, 'adapter_config.json'), 'utf8')).toBe('{}');
  expect((await announced(read(...tasks(path))))!.tasks).toMatchObject([{ path }]);
});

it('announces nothing that services could not have', async () => {
  const unshared = `uirl://file/${'0'.repeat(64)}/tasks.jsonl`;
  await expect(announced(read(...tasks(unshared)))).rejects.toThrow(
    `tasks[0].path is ${unshared}: no user has shared ${unshared} at this broker`,
  );
  const gone = read(...tasks());
  gone.tasks = [{ source_type: 'file', path: join(folder, 'gone.jsonl') }];
  await expect(announced(gone)).rejects.toThrow(/tasks\[0\]\.path is .*there is no file or folder .*gone/);
  await expect(announced(read('--model.name', './adapter', ...tasks()))).rejects.toThrow(
    `model.name is the folder ${join(folder, 'adapter')}, which the services of a broker may not have: start the learner with UIRL_MODELS=adapter=${join(folder, 'adapter')} and name the model adapter`,
  );
  const keys = await bus.runsBucket.keys('*.record');
  expect(keys.some((key) => key.startsWith(`run-${runs}`))).toBe(false);
});

it('frees what an upload left behind that was cut off', async () => {
  const chunks = async (): Promise<string[]> => {
    const jsm = await jetstreamManager(bus.connection);
    const { state } = await jsm.streams.info('OBJ_files', { subjects_filter: '$O.files.C.>' });
    return Object.keys(state.subjects ?? {});
  };
  await jetstream(bus.connection).publish('$O.files.C.cut_off', Buffer.alloc(10));
  await announced(read(...tasks()));
  expect(await chunks()).toContain('$O.files.C.cut_off');
  const now = Date.now;
  const later = jest.spyOn(Date, 'now').mockImplementation(() => now() + 7_200_000);
  await announced(read(...tasks())).finally(() => later.mockRestore());
  expect(await chunks()).not.toContain('$O.files.C.cut_off');
});
