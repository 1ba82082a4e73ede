import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCliSettings } from '@ui-rl/settings';
import { openRecords } from './open-records';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-open-records-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = (run?: string) =>
  openRecords(readCliSettings({ ...process.env, UIRL_RUNS_DIR: folder, MONITOR_PORT: '0' }), {
    run,
    onWarning: () => undefined,
  });

test('where there are no records, it says where they were looked for', async () => {
  await expect(open()).rejects.toThrow(`no run in ${folder} (UIRL_RUNS_DIR) has records`);
  const dir = join(folder, 'a-run/monitor-db');
  await expect(open('a-run')).rejects.toThrow(`no records of run a-run: expected the folder ${dir}`);
  expect(existsSync(dir)).toBe(false);
});

test('a monitor opens at the page of the newest run with records', async () => {
  mkdirSync(join(folder, 'a-run/monitor-db'), { recursive: true });
  mkdirSync(join(folder, 'without-records'));
  const opened = await open();
  try {
    expect(opened.page).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#\/runs\/a-run$/);
    const answer = await fetch(new URL('/api/runs', opened.page));
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual([]);
  } finally {
    await opened.close();
  }
});
