import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KnownRun } from '@ui-rl/api';
import { migrate, openDatabase, record, screenshotFolder } from '@ui-rl/records';
import { makeRollout, makeTrajectory } from '@ui-rl/testkit';
import { runsCommand } from './runs';

/** `ui-rl runs` on a machine without a broker. */

let folder: string;
let dataDir: string;
let printed: string[];
const environment = process.env;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ui-rl-recorded-'));
  dataDir = join(folder, 'monitor-db');
  const database = await openDatabase({ kind: 'pglite', dataDir });
  const { dataSource } = database;
  await migrate(dataSource);
  for (const [runId, at] of [
    ['old', '2026-01-01T00:00:00Z'],
    ['new', new Date().toISOString()],
  ]) {
    await record(dataSource, {
      trajectories: [makeTrajectory({ request: makeRollout({ runId, rolloutId: `${runId}-0` }) })],
      events: [
        { key: 'created', event: { type: 'run_created', runId, at, config: { name: runId } } },
        { key: 'finished', event: { type: 'phase', runId, at, phase: 'finished' } },
      ],
    });
    await screenshotFolder(dataDir).write(runId, 'a'.repeat(64), Buffer.alloc(2_000));
  }
  await database.close();
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

beforeEach(() => {
  const { NATS_URL: _url, NATS_CONTEXT: _context, ...others } = environment;
  process.env = { ...others, UIRL_RUNS_DIR: folder };
  printed = [];
  jest.spyOn(console, 'log').mockImplementation((text: string) => void printed.push(text));
});
afterEach(() => {
  jest.restoreAllMocks();
  process.env = environment;
});

async function run(...args: string[]): Promise<string> {
  printed.length = 0;
  await runsCommand().parseAsync(args, { from: 'user' });
  return printed.join('\n');
}

test('recorded runs are listed with the size of their records', async () => {
  const lines = (await run('list')).split('\n');
  expect(lines[0]).toMatch(/^run +phase +step +created +since +recorded$/);
  expect(lines[1]).toMatch(/^old +finished +0 +2026-01-01\S+ +2026-01-01\S+ +yes$/);
  expect(lines[2]).toMatch(/^new +finished /);
  expect(lines[3]).toMatch(new RegExp(`^records [\\d.]+ MB, screenshots 4 KB in ${dataDir}$`));
});

test('a run is deleted with its records and screenshots, and nothing of another', async () => {
  const shots = `${dataDir}-screenshots`;
  await expect(run('delete', 'old', 'unknown')).rejects.toThrow(
    'run unknown is not recorded: ui-rl runs list',
  );
  expect(await run('delete', '--older-than', '30', '--dry-run')).toBe(
    'would be deleted:\nold: 1 recorded episodes with 2 KB of screenshots',
  );
  expect(readdirSync(shots).toSorted()).toEqual(['new', 'old']);
  expect(await run('delete', '--older-than', '30')).toMatch(/^deleted:\nold: 1 recorded episodes/);
  expect(readdirSync(shots)).toEqual(['new']);
  const left = JSON.parse(await run('list', '--json')) as KnownRun[];
  expect(left).toMatchObject([{ runId: 'new', phase: 'finished', recorded: true }]);
  expect(await run('delete', 'new')).toMatch(/^deleted:\nnew: /);
  expect(await run('list')).toMatch(/^no run is recorded\nrecords [\d.]+ MB, screenshots 0 B in /);
  expect(existsSync(join(shots, 'new'))).toBe(false);
});
