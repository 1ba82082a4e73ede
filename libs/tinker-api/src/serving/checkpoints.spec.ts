import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CheckpointStore, type CheckpointAddress, type RunRecord } from './checkpoints';

const RECORD: RunRecord = {
  baseModel: 'small',
  role: 'critic',
  lora: { rank: 8, trainMlp: true, trainAttn: false },
  createdAt: '2026-01-01T00:00:00.000Z',
  userMetadata: { owner: 'lab' },
};
const ADDRESS: CheckpointAddress = { run: 'run', kind: 'weights', name: 'one' };

let dir: string;
let store: CheckpointStore;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'uirl-weights-'));
  store = new CheckpointStore(dir);
  await store.keepRun('run', RECORD);
  await mkdir(store.folderOf(ADDRESS), { recursive: true });
  await store.complete(ADDRESS, 60);
});
afterEach(() => rm(dir, { recursive: true }));

it('returns the records as they were written', async () => {
  expect((await store.open(ADDRESS)).run).toEqual(RECORD);
  expect(await store.list('run')).toEqual([
    { createdAt: expect.any(String), expiresAt: expect.any(String), address: ADDRESS },
  ]);
});

it('deletes expired weights only', async () => {
  await store.sweep(Date.now() + 30_000);
  expect(await store.has(ADDRESS)).toBe(true);
  await store.sweep(Date.now() + 90_000);
  expect(await store.has(ADDRESS)).toBe(false);
});

it.each([
  ['no JSON', () => '{', 'run.json: is not JSON'],
  [
    'a model that is not named',
    (record: object) => JSON.stringify({ ...record, baseModel: 3 }),
    'run.json: baseModel: expected a string, found 3',
  ],
  [
    'an unknown role',
    (record: object) => JSON.stringify({ ...record, role: 'judge' }),
    'run.json: role: expected one of policy, critic, found "judge"',
  ],
  [
    'an adapter without rank',
    (record: object) => JSON.stringify({ ...record, lora: { trainMlp: true, trainAttn: true } }),
    'run.json: lora.rank: expected an integer of at least 1, found nothing',
  ],
])('names the file and the field of a run with %s', async (_, damage, message) => {
  const file = join(dir, 'run', 'run.json');
  await writeFile(file, damage(JSON.parse(await readFile(file, 'utf8')) as object));
  await expect(store.open(ADDRESS)).rejects.toThrow(message);
});
