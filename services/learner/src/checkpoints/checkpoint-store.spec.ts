import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { BusService } from '@ui-rl/bus';
import { stepFolder } from '@ui-rl/contracts';
import { startNats, type NatsServer } from '@ui-rl/testkit';
import { CheckpointFolder } from './checkpoint-folder';
import { CheckpointElsewhere, CheckpointStore, type Uploads } from './checkpoint-store';

Logger.overrideLogger(false);

let nats: NatsServer;
let bus: BusService;
let dir: string;
let runs = 0;
let runId: string;

beforeAll(async () => {
  nats = await startNats();
  bus = await BusService.connect({ service: 'test', servers: [nats.url] });
});
afterAll(async () => {
  await bus.close();
  await nats.stop();
});
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'uirl-checkpoints-'));
  runId = `run-${++runs}`;
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** The checkpoints of the run as a learner on some machine has them. */
async function machine(name: string, uploads: Uploads = 'all', announced = 0): Promise<CheckpointStore> {
  const folder = new CheckpointFolder(join(dir, name));
  const store = new CheckpointStore(folder, bus.checkpoints, {
    runId,
    uploads,
    keeps: (step) => step % 3 === 0,
  });
  await store.resume(announced);
  return store;
}

function save({ folder }: CheckpointStore, step: number, weights = `weights of ${step}`): void {
  mkdirSync(folder.pathOf(step), { recursive: true });
  writeFileSync(join(folder.pathOf(step), 'state.json'), JSON.stringify({ format: 1, runId, step }));
  writeFileSync(join(folder.pathOf(step), 'weights'), weights);
}

async function train(store: CheckpointStore, steps: number[]): Promise<void> {
  for (const step of steps) {
    save(store, step);
    await store.publish(step);
    await store.prune(2);
  }
}

const here = ({ folder }: CheckpointStore): string[] => readdirSync(folder.dir);
const there = async (): Promise<string[]> => (await bus.checkpoints.steps(runId)).map(stepFolder);

it('uploads every checkpoint and prunes them there as on disk', async () => {
  const store = await machine('a');
  await train(store, [0, 1, 2, 3, 4, 5]);
  expect(here(store)).toEqual(['000000', '000003', '000004', '000005']);
  expect(await there()).toEqual(here(store));
  expect(existsSync(join(store.folder.pathOf(5), 'manifest.json'))).toBe(true);
});

it('uploads those that are kept, and the last', async () => {
  const store = await machine('a', 'kept');
  await train(store, [0, 1, 2, 3, 4]);
  expect(await there()).toEqual(['000000', '000003']);
  await store.publish(4, { last: true });
  expect(await there()).toEqual(['000000', '000003', '000004']);
});

it('uploads none where that is wanted, and they are complete here all the same', async () => {
  const store = await machine('a', 'none');
  await train(store, [0, 1]);
  expect(await there()).toEqual([]);
  expect(existsSync(join(store.folder.pathOf(1), 'manifest.json'))).toBe(true);
});

it('goes on from the newest one of another machine, and prunes what that uploaded', async () => {
  await train(await machine('a'), [0, 1, 2]);
  const other = await machine('b', 'all', 2);
  expect(await other.resume(2)).toEqual({ format: 1, runId, step: 2 });
  expect(readFileSync(join(other.folder.pathOf(2), 'weights'), 'utf8')).toBe('weights of 2');
  await train(other, [3, 4]);
  expect(await there()).toEqual(['000000', '000003', '000004']);
});

it('goes on from one that was saved but not uploaded when the process ended', async () => {
  const store = await machine('a');
  await train(store, [0, 1]);
  save(store, 2);
  const again = await machine('a', 'all', 1);
  expect((await again.resume(1))?.step).toBe(2);
  await again.publish(2);
  expect(await there()).toEqual(['000000', '000001', '000002']);
});

it.each([
  ['the same step', [2]],
  ['later steps', [2, 3, 4, 5, 6]],
])('discards one that was never uploaded where another machine has trained %s', async (_, steps) => {
  const store = await machine('a');
  await train(store, [0, 1]);
  save(store, 2, 'never told');
  const other = await machine('b', 'all', 1);
  await train(other, steps);
  const last = steps.at(-1)!;
  const again = await machine('a', 'all', last);
  expect((await again.resume(last))?.step).toBe(last);
  const texts = here(again).map((folder) => readFileSync(join(again.folder.dir, folder, 'weights'), 'utf8'));
  expect(texts).not.toContain('never told');
  expect(texts).toContain(`weights of ${last}`);
});

it('does not go on from less than the run has reached', async () => {
  await train(await machine('a', 'kept'), [0, 1, 2, 3, 4]);
  await expect(machine('b', 'kept', 4)).rejects.toThrow(CheckpointElsewhere);
  await expect(machine('b', 'kept', 4)).rejects.toThrow(/reached step 4, but .* have 000003 as the newest/);
  expect((await (await machine('a', 'kept', 4)).resume(4))?.step).toBe(4);
  runId = 'another';
  await expect(machine('c', 'none', 1)).rejects.toThrow(/have none: start the learner where/);
});

it('frees what an upload left behind that was cut off long ago, and nothing of one that goes on', async () => {
  const first = await machine('first');
  await train(first, [1]);
  const chunks = async (): Promise<number> => {
    const jsm = await jetstreamManager(bus.connection);
    const { state } = await jsm.streams.info('OBJ_checkpoints', { subjects_filter: '$O.checkpoints.C.>' });
    return Object.keys(state.subjects ?? {}).length;
  };
  const whole = await chunks();
  await jetstream(bus.connection).publish('$O.checkpoints.C.cut_off', Buffer.alloc(10));
  await machine('second');
  expect(await chunks()).toBe(whole + 1);
  const now = Date.now;
  const later = jest.spyOn(Date, 'now').mockImplementation(() => now() + 7_200_000);
  await machine('third').finally(() => later.mockRestore());
  expect(await chunks()).toBe(whole);
  expect(await bus.checkpoints.steps(runId)).toEqual([1]);
});
