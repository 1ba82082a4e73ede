import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '@ui-rl/testkit';
import { diskError, HubError } from './errors';
import { withLock } from './lock';

let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'uirl-lock-'));
  file = join(dir, 'locks/a.lock');
});
afterEach(() => rmSync(dir, { recursive: true }));

const quick = { pollMs: 5 };

test('one works at a time, and the lock is gone in the end, also after an error', async () => {
  let inside = 0;
  const work = async (): Promise<void> => {
    inside += 1;
    expect(inside).toBe(1);
    await sleep(20);
    inside -= 1;
  };
  await Promise.all([1, 2, 3, 4].map(() => withLock(file, work, quick)));
  expect(existsSync(file)).toBe(false);
  const failing = withLock(file, () => Promise.reject(new Error('no luck')), quick);
  await expect(failing).rejects.toThrow('no luck');
  expect(existsSync(file)).toBe(false);
});

test('the lock of a process that is gone is taken at once', async () => {
  const { pid } = spawnSync(process.execPath, ['-e', '']);
  await withLock(file, () => Promise.resolve(), quick);
  writeFileSync(file, `${hostname()} ${pid}`);
  const began = performance.now();
  await withLock(file, () => Promise.resolve(), quick);
  expect(performance.now() - began).toBeLessThan(5_000);
});

test('a lock that another process has taken meanwhile is left to it', async () => {
  await withLock(file, async () => writeFileSync(file, 'another-machine 1'), quick);
  expect(readFileSync(file, 'utf8')).toBe('another-machine 1');
});

test('the lock of another machine is waited for, and taken when it is not renewed', async () => {
  await withLock(file, () => Promise.resolve(), quick);
  writeFileSync(file, 'another-machine 1');
  const waited = jest.fn();
  const began = performance.now();
  await withLock(file, () => Promise.resolve(), { ...quick, staleMs: 300, onWait: waited });
  expect(performance.now() - began).toBeGreaterThan(250);
  expect(waited).toHaveBeenCalledTimes(1);
});

test('a lock that is worked under for long is renewed', async () => {
  const order: string[] = [];
  const long = withLock(file, () => sleep(500).then(() => order.push('first')), { ...quick, staleMs: 200 });
  await eventually('the lock of the first', () => existsSync(file));
  const second = withLock(file, () => Promise.resolve(order.push('second')), { ...quick, staleMs: 200 });
  await Promise.all([long, second]);
  expect(order).toEqual(['first', 'second']);
});

test('waiting ends on abort', async () => {
  await withLock(file, () => Promise.resolve(), quick);
  writeFileSync(file, `${hostname()} ${process.pid}`);
  const stop = new AbortController();
  const waiting = { ...quick, signal: stop.signal, onWait: () => stop.abort() };
  await expect(withLock(file, () => Promise.resolve(), waiting)).rejects.toThrow(/abort/);
});

test('a full disk and a folder that cannot be written are reported in words', () => {
  const failure = (code: string): unknown =>
    diskError('/cache/blob', Object.assign(new Error(code), { code }));
  expect(failure('ENOSPC')).toMatchObject({
    kind: 'disk',
    message: expect.stringMatching(/disk is full; what has arrived is kept/) as string,
  });
  expect(failure('EROFS')).toMatchObject({
    kind: 'disk',
    message: expect.stringMatching(/HF_HUB_CACHE/) as string,
  });
  expect(failure('EIO')).not.toBeInstanceOf(HubError);
});
