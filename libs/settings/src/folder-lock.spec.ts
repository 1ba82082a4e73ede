import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@ui-rl/testkit';
import { FolderInUseError, lockFolder } from './folder-lock';

const ROOT = join(__dirname, '../../..');

test('the lock of a process that is gone is taken over', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ui-rl-records-'));
  const lock = `${join(folder, 'database')}.lock`;
  await writeFile(lock, String(2 ** 22 + 1));
  const unlock = await lockFolder(join(folder, 'database'));
  expect((await readFile(lock, 'utf8')).split('\n')[0]).toBe(String(process.pid));
  await unlock();
  expect(await readdir(folder)).toEqual([]);
  await rm(folder, { recursive: true, force: true });
});

test('a lock that is held is not given away', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ui-rl-lock-'));
  const unlock = await lockFolder(join(folder, 'store'));
  const again = lockFolder(join(folder, 'store'));
  await expect(again).rejects.toThrow(FolderInUseError);
  await expect(again).rejects.toThrow(`process ${process.pid} has it open`);
  await unlock();
  await (
    await lockFolder(join(folder, 'store'))
  )();
  await rm(folder, { recursive: true, force: true });
});

test('a lock that was created and not written is taken over', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ui-rl-lock-'));
  await writeFile(join(folder, 'store.lock'), '');
  const unlock = await lockFolder(join(folder, 'store'));
  expect(await readFile(join(folder, 'store.lock'), 'utf8')).toContain(String(process.pid));
  await unlock();
  await rm(folder, { recursive: true, force: true });
});

test('of many parts of a process that take over a lock at once, one has it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ui-rl-lock-'));
  await writeFile(join(folder, 'store.lock'), String(2 ** 22 + 1));
  const tried = await Promise.allSettled(Array.from({ length: 20 }, () => lockFolder(join(folder, 'store'))));
  const held = tried.filter(({ status }) => status === 'fulfilled');
  expect(held).toHaveLength(1);
  await (held[0] as PromiseFulfilledResult<() => Promise<void>>).value();
  expect(await readdir(folder)).toEqual([]);
  await rm(folder, { recursive: true, force: true });
});

/**
 * Takes the lock repeatedly. While it holds the lock, it listens on a port, which the system gives to one process at
 * a time and releases when a process is killed. Occasionally it kills itself, with or without the lock.
 */
const RIVAL = `
const { createServer } = require('node:net');
const { lockFolder } = require('./libs/settings/src/folder-lock');
const [folder, port, seconds] = process.argv.slice(2);
const until = Date.now() + Number(seconds) * 1000;
setTimeout(() => process.kill(process.pid, 'SIGKILL'), 300 + Math.random() * 3000);
async function main() {
  console.log('begun');
  while (Date.now() < until) {
    const unlock = await lockFolder(folder).catch((error) => {
      if (error.name !== 'FolderInUseError') throw error;
    });
    if (unlock === undefined) continue;
    const server = createServer();
    await new Promise((resolve, reject) => server.on('error', reject).listen(Number(port), '127.0.0.1', resolve));
    console.log('held');
    if (Math.random() < 0.05) process.kill(process.pid, 'SIGKILL');
    await new Promise((resolve) => server.close(resolve));
    await unlock();
  }
}
main().catch((error) => { console.log('fault ' + error.message); process.exit(1); });
`;

test('of many processes, some of which are killed, one has the lock at a time', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ui-rl-lock-'));
  const rival = join(ROOT, `rival-${process.pid}.cjs`);
  await writeFile(rival, RIVAL);
  const port = await freePort();
  const counts = { begun: 0, held: 0, killed: 0 };
  const faults: string[] = [];
  const until = Date.now() + 12_000;
  const play = async (): Promise<void> => {
    while (Date.now() < until && faults.length === 0) {
      const seconds = (until - Date.now()) / 1_000;
      const child = spawn(
        process.execPath,
        ['libs/testkit/run-ts.cjs', rival, join(folder, 'store'), String(port), String(seconds)],
        { cwd: ROOT },
      );
      child.stderr.on('data', (text: Buffer) => faults.push(text.toString()));
      child.stdout.on('data', (text: Buffer) => {
        for (const line of text.toString().trim().split('\n')) {
          if (line === 'begun' || line === 'held') counts[line] += 1;
          else faults.push(line);
        }
      });
      const signal = await new Promise((resolve) => child.on('close', (_, by) => resolve(by)));
      if (signal === 'SIGKILL') counts.killed += 1;
    }
  };
  try {
    await Promise.all(Array.from({ length: 5 }, play));
    expect(faults).toEqual([]);
    expect(counts.held).toBeGreaterThan(20);
    expect(counts.killed).toBeGreaterThan(3);
    const unlock = await lockFolder(join(folder, 'store'));
    await unlock();
    expect(await readdir(folder)).toEqual([]);
  } finally {
    await rm(rival, { force: true });
    await rm(folder, { recursive: true, force: true });
  }
}, 90_000);
