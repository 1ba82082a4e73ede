import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Logger } from '@nestjs/common';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { Objm } from '@nats-io/obj';
import { BusService, LeaseLost, type Lease } from '@ui-rl/bus';
import { stepFolder } from '@ui-rl/contracts';
import { startNats, type NatsServer } from '@ui-rl/testkit';
import { CheckpointFolder, readStateOf } from './checkpoint-folder';
import { CheckpointElsewhere, CheckpointStore, type Announced, type Uploads } from './checkpoint-store';

Logger.overrideLogger(false);

let nats: NatsServer;
let bus: BusService;
let dir: string;
let runs = 0;
let runId: string;
/** Epoch of the latest learner. */
let epoch: number;
let warnings: string[];

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
  epoch = 0;
  warnings = [];
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

type StoreLease = Pick<Lease, 'epoch' | 'confirm' | 'ensure'>;

/** The lease of a learner that is not superseded. */
const held = (): StoreLease => ({
  epoch: ++epoch,
  confirm: () => Promise.resolve(),
  ensure: () => Promise.resolve(),
});

/** The checkpoints of the run as seen by a learner on some machine. */
function storeOf(name: string, uploads: Uploads = 'all', lease = held()): CheckpointStore {
  return new CheckpointStore(new CheckpointFolder(join(dir, name)), bus.checkpoints, {
    ...{ runId, uploads, lease },
    keeps: (step) => step % 3 === 0,
    warn: async (message) => void warnings.push(message),
  });
}

async function machine(name: string, uploads: Uploads = 'all', announced = 0): Promise<CheckpointStore> {
  const store = storeOf(name, uploads);
  await store.resume(announcedAt(announced));
  return store;
}

const digestAt = (step: number): string => `digest of ${step}`;
const announcedAt = (version: number): Announced => ({ version, adapterDigest: digestAt(version) });

const STATE = {
  ...{ format: 1, model: { name: 'small' }, settledGroups: '', replacedGroups: 0, lastStep: null },
  counts: { trajectories: 0, invalid: 0, trainedEpisodes: 0, trainedTokens: 0 },
  savedAt: '2026-01-01T00:00:00.000Z',
};

/** Writes a checkpoint like an engine. `digest` differs in a lineage that was not announced. */
async function save(
  store: CheckpointStore,
  step: number,
  weights = `weights of ${step}`,
  digest = digestAt(step),
) {
  const steps = Array.from({ length: step }, (_, index) => [index, digestAt(index)]);
  const digests = { ...(Object.fromEntries(steps) as Record<number, string>), [step]: digest };
  await store.save(step, async (folder) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'state.json'), JSON.stringify({ ...STATE, runId, step, digests }));
    writeFileSync(join(folder, 'weights'), weights);
  });
}

async function train(store: CheckpointStore, steps: number[]): Promise<void> {
  for (const step of steps) {
    await save(store, step);
    await store.publish(step);
    await store.prune(2);
  }
}

const here = ({ folder }: CheckpointStore): string[] => readdirSync(folder.dir);
const there = async (): Promise<string[]> => (await bus.checkpoints.steps(runId)).map(stepFolder);
const resumed = async (store: CheckpointStore, announced: number): Promise<number | undefined> =>
  (await store.resume(announcedAt(announced))).state?.step;

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

it('tells before the last copy of a checkpoint is deleted', async () => {
  const store = await machine('a', 'kept');
  const told: number[] = [];
  const forget = async (folder: string): Promise<void> => {
    expect(existsSync(join(folder, 'weights'))).toBe(true);
    told.push(Number(basename(folder)));
  };
  for (const step of [0, 1, 2, 3, 4, 5, 6, 7]) {
    await save(store, step);
    await store.publish(step, { last: step === 4 });
    await store.prune(2, forget);
  }
  expect(here(store)).toEqual(['000000', '000003', '000006', '000007']);
  // The fourth is still in the object store.
  expect(await there()).toEqual(['000000', '000003', '000004', '000006']);
  expect(told).toEqual([1, 2, 5]);
});

it('uploads none where that is wanted, and they are complete here all the same', async () => {
  const store = await machine('a', 'none');
  await train(store, [0, 1]);
  expect(await there()).toEqual([]);
  expect(existsSync(join(store.folder.pathOf(1), 'manifest.json'))).toBe(true);
});

it('has all of a checkpoint on the disk before it takes its place, and that place, too', async () => {
  const store = await machine('a', 'none');
  const handle = await open(dir, 'r');
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const synced: string[] = [];
  const spy = jest.spyOn(prototype, 'sync').mockImplementation(async function (this: FileHandle) {
    synced.push(readlinkSync(`/proc/self/fd/${this.fd}`));
    await this.datasync();
  });
  await save(store, 1).finally(() => spy.mockRestore());
  const staging = store.folder.stagingOf(1, epoch);
  const files = ['manifest.json', 'state.json', 'weights'].map((name) => join(staging, name));
  expect(synced.slice(0, -2).toSorted()).toEqual(files);
  expect(synced.slice(-2)).toEqual([staging, store.folder.dir]);
});

it('continues from the newest one of another machine, and prunes what that uploaded', async () => {
  await train(await machine('a'), [0, 1, 2]);
  const other = await machine('b', 'all', 2);
  expect(await resumed(other, 2)).toBe(2);
  expect(readFileSync(join(other.folder.pathOf(2), 'weights'), 'utf8')).toBe('weights of 2');
  await train(other, [3, 4]);
  expect(await there()).toEqual(['000000', '000003', '000004']);
});

it('continues from one that was saved but not uploaded when the process ended', async () => {
  const store = await machine('a');
  await train(store, [0, 1]);
  await save(store, 2);
  const again = await machine('a', 'all', 1);
  expect(await resumed(again, 1)).toBe(2);
  await again.publish(2);
  expect(await there()).toEqual(['000000', '000001', '000002']);
});

it.each([
  ['the same step', [2]],
  ['later steps', [2, 3, 4, 5, 6]],
])('discards one that was never uploaded where another machine has trained %s', async (_, steps) => {
  const store = await machine('a');
  await train(store, [0, 1]);
  await save(store, 2, 'never told', 'another digest');
  const other = await machine('b', 'all', 1);
  await train(other, steps);
  const last = steps.at(-1)!;
  const again = storeOf('a');
  expect(await resumed(again, last)).toBe(last);
  const texts = here(again).map((folder) => readFileSync(join(again.folder.dir, folder, 'weights'), 'utf8'));
  expect(texts).not.toContain('never told');
  expect(texts).toContain(`weights of ${last}`);
  expect(warnings).toEqual([]);
});

it('does not continue from an older step than the run has reached', async () => {
  await train(await machine('a', 'kept'), [0, 1, 2, 3, 4]);
  await expect(machine('b', 'kept', 4)).rejects.toThrow(CheckpointElsewhere);
  await expect(machine('b', 'kept', 4)).rejects.toThrow(/reached step 4, but .* have 000003 as the newest/);
  expect(await resumed(await machine('a', 'kept', 4), 4)).toBe(4);
  runId = 'another';
  await expect(machine('c', 'none', 1)).rejects.toThrow(/have none: start the learner where/);
});

const DAMAGES: [string, (folder: string) => void][] = [
  ['weights that were cut off', (folder) => truncateSync(join(folder, 'weights'), 3)],
  ['a state that was cut off', (folder) => truncateSync(join(folder, 'state.json'), 20)],
  ['no state', (folder) => rmSync(join(folder, 'state.json'))],
  ['an empty manifest', (folder) => truncateSync(join(folder, 'manifest.json'))],
  ['no manifest', (folder) => rmSync(join(folder, 'manifest.json'))],
];

it.each(DAMAGES)('passes over one with %s, says so, and can save it anew', async (_, damage) => {
  const store = await machine('a', 'none');
  await train(store, [0, 1, 2]);
  await save(store, 3);
  damage(store.folder.pathOf(3));
  const again = storeOf('a', 'none');
  expect(await again.resume(announcedAt(2))).toMatchObject({ state: { step: 2 }, wentBack: false });
  expect(warnings).toEqual([
    expect.stringMatching(/^checkpoint 000003 of run .* is damaged and passed over/),
  ]);
  expect(here(again)).toContain('000003.damaged');
  await save(again, 3, 'once more');
  expect(readFileSync(join(again.folder.pathOf(3), 'weights'), 'utf8')).toBe('once more');
});

it.each([
  ['not JSON', '{"format":1,', /state\.json is not JSON/],
  ['a text', '"state"', /state\.json holds no state/],
  ['another format', '{"format":2}', /has format 2; this version reads format 1/],
  [
    'a step in words',
    JSON.stringify({ ...STATE, runId: 'r', step: 'three', digests: {} }),
    /step: .*found "three"/,
  ],
  [
    'counts without tokens',
    JSON.stringify({
      ...STATE,
      runId: 'r',
      step: 3,
      digests: {},
      counts: { ...STATE.counts, trainedTokens: null },
    }),
    /counts\.trainedTokens: /,
  ],
])('refuses a state that is %s', async (_, text, message) => {
  writeFileSync(join(dir, 'state.json'), text);
  await expect(readStateOf(dir)).rejects.toThrow(message);
});

it('takes the one in the object store where its own is damaged', async () => {
  const store = await machine('a');
  await train(store, [0, 1, 2]);
  const weights = join(store.folder.pathOf(2), 'weights');
  truncateSync(weights, 3);
  expect(await resumed(storeOf('a'), 2)).toBe(2);
  expect(readFileSync(weights, 'utf8')).toBe('weights of 2');
});

/** Overwrites a file of an uploaded checkpoint. */
async function damageUploaded(step: number, file: string, by: number): Promise<void> {
  const objects = await new Objm(jetstream(bus.connection)).open('checkpoints');
  await objects.putBlob({ name: `${runId}/${stepFolder(step)}/${by}/${file}` }, Buffer.from('{"format":1'));
}

it.each(['weights', 'manifest.json'])(
  'goes back by a step where the newest uploaded one has damaged %s, and uploads that step anew',
  async (file) => {
    await train(await machine('a'), [0, 1, 2]);
    await damageUploaded(2, file, epoch);
    const other = storeOf('b');
    expect(await other.resume(announcedAt(2))).toMatchObject({ state: { step: 1 }, wentBack: true });
    expect(warnings).toEqual([expect.stringMatching(/000002 of run .* \(in the object store\)/)]);
    await train(other, [2]);
    expect(await resumed(storeOf('c'), 2)).toBe(2);
    expect(warnings).toHaveLength(1);
  },
);

it('does not begin anew where every checkpoint is damaged', async () => {
  const store = await machine('a', 'none');
  await train(store, [0, 1]);
  for (const step of [0, 1]) truncateSync(join(store.folder.pathOf(step), 'weights'), 3);
  await expect(storeOf('a', 'none').resume(announcedAt(1))).rejects.toThrow(CheckpointElsewhere);
  expect(warnings).toHaveLength(2);
});

it('takes nothing from a learner that another one has taken over from', async () => {
  const acquire = (holder: string): Promise<Lease> =>
    bus.runs.lease(runId, {
      ...{ holder, host: 'here', signal: new AbortController().signal },
      onWaiting: () => undefined,
    });
  const first = await acquire('first');
  const store = storeOf('a', 'all', first);
  await store.resume(null);
  await train(store, [0, 1]);
  await first.release();
  const second = await acquire('second');
  const other = storeOf('a', 'all', second);
  expect(await resumed(other, 1)).toBe(1);
  await train(other, [2]);
  await expect(save(store, 2, 'late')).rejects.toThrow(LeaseLost);
  await expect(store.publish(2)).rejects.toThrow(LeaseLost);
  await expect(store.prune(0)).rejects.toThrow(LeaseLost);
  expect(here(other)).toEqual(['000000', '000001', '000002']);
  expect(readFileSync(join(other.folder.pathOf(2), 'weights'), 'utf8')).toBe('weights of 2');
  await second.release();
});

it('frees the remains of an upload that was cut off long ago, and nothing of an active one', async () => {
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
