import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate, MonitorAnnouncement, openDatabase } from '@ui-rl/records';
import { readCliSettings } from '@ui-rl/settings';
import { openRecords } from './open-records';

let folder: string;
let dataDir: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-open-records-'));
  dataDir = join(folder, 'monitor-db');
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = (run?: string) =>
  openRecords(readCliSettings({ ...process.env, UIRL_RUNS_DIR: folder, MONITOR_PORT: '0' }), { run });

async function withRecords(work: (runId: string) => Promise<void>): Promise<void> {
  const database = await openDatabase({ kind: 'pglite', dataDir });
  const { dataSource } = database;
  try {
    await migrate(dataSource);
    await dataSource.query(
      `INSERT INTO runs (id, config, phase) VALUES ('kept', '{"name": "kept"}', 'finished')`,
    );
    await work('kept');
  } finally {
    await database.close();
  }
}

test('where there are no records, it says where they were looked for, and where an earlier version kept some', async () => {
  await expect(open()).rejects.toThrow(`no run has been recorded in ${dataDir} (UIRL_RUNS_DIR)`);
  const earlier = join(folder, 'a-run/monitor-db');
  mkdirSync(earlier, { recursive: true });
  writeFileSync(join(earlier, 'PG_VERSION'), '17');
  await expect(open()).rejects.toThrow(`UIRL_PGLITE_DIR=${earlier} npx ui-rl monitor`);
});

test('a monitor opens beside the process that has the records open, and names its run', async () => {
  await withRecords(async (run) => {
    const live = { pid: process.pid, url: 'http://127.0.0.1:1', records: true, run: 'active' };
    const announcement = await MonitorAnnouncement.publish(dataDir, live);
    const opened = await open(run);
    try {
      expect(opened.page).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#\/runs\/kept$/);
      expect(opened.live).toEqual([live]);
      const answer = await fetch(new URL('/api/runs', opened.page));
      expect(await answer.json()).toMatchObject([{ id: 'kept', phase: 'finished' }]);
    } finally {
      await announcement.withdraw();
      await opened.close();
    }
    await expect(open('unknown')).rejects.toThrow('the records contain no run unknown');
  });
  const later = await open();
  expect(later.page).toMatch(/:\d+\/$/);
  expect(later.live).toEqual([]);
  await later.close();
}, 120_000);

test.each([
  [`DELETE FROM runs`, 'the records contain no run yet'],
  [
    `INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'Later9999999999999')`,
    'a later version of ui-rl has written these records (Later9999999999999)',
  ],
])(
  'after %s it says %s',
  async (statement, message) => {
    await withRecords(async () => {
      const database = await openDatabase({ kind: 'pglite', dataDir });
      await database.dataSource.query(statement);
      await database.close();
    });
    await expect(open()).rejects.toThrow(message);
  },
  60_000,
);
