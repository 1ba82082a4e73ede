import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { eventually } from '@ui-rl/testkit';

const LOCK = resolve(__dirname, '../../deploy/local/setup-lock.mjs');

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'setup-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const diary = () => readFileSync(join(folder, 'diary'), 'utf8').trim().split('\n');

/**
 * A process that acquires the setup lock, prints a line, and releases it after some time or never, with another line.
 */
function holder(name: string, ms: number) {
  const script = `
    import { appendFileSync } from 'node:fs';
    import { lockSetup } from ${JSON.stringify(LOCK)};
    const unlock = await lockSetup();
    appendFileSync('diary', '${name} begins\\n');
    await new Promise((done) => setTimeout(done, ${ms}));
    appendFileSync('diary', '${name} ends\\n');
    unlock();`;
  return spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { ...process.env, UIRL_CACHE_DIR: folder },
  });
}

describe('the lock of set-ups', () => {
  beforeEach(() => writeFileSync(join(folder, 'diary'), ''));

  it('is held by one process at a time, and leaves nothing', async () => {
    const processes = ['a', 'b', 'c', 'd'].map((name) => holder(name, 50));
    for (const [code] of await Promise.all(processes.map((each) => once(each, 'exit')))) expect(code).toBe(0);
    const lines = diary();
    expect(lines).toHaveLength(8);
    for (let index = 0; index < lines.length; index += 2)
      expect(lines[index + 1]).toBe(lines[index].replace('begins', 'ends'));
    expect(readdirSync(folder)).toEqual(['diary']);
  });

  it('is waited for, and taken from a process that was killed', async () => {
    const killed = holder('killed', 1e9);
    await eventually('the lock to be held', () => diary().includes('killed begins'));
    const next = holder('next', 0);
    const [said] = (await once(next.stderr, 'data')) as [Buffer];
    expect(said.toString()).toBe(`Waiting for another set-up of this folder (process ${killed.pid}) …\n`);
    killed.kill('SIGKILL');
    expect(await once(next, 'exit')).toEqual([0, null]);
    expect(diary()).toEqual(['killed begins', 'next begins', 'next ends']);
  });
});
