import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import { readServiceSettings } from '@ui-rl/settings';
import { eventually, findNatsServer } from '@ui-rl/testkit';
import { withCleanup } from './cleanup';
import { ManagedProcess } from './managed-process';
import { freePort, startLocalNats } from './nats-server';

Logger.overrideLogger(false);

let dir: string;
const warnings: string[] = [];
const onWarning = (message: string) => warnings.push(message);

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ui-rl-local-'));
  warnings.length = 0;
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function node(
  script: string,
  restart = false,
  policy?: ConstructorParameters<typeof ManagedProcess>[2],
): ManagedProcess {
  return new ManagedProcess(
    {
      name: 'child',
      command: process.execPath,
      args: ['-e', script],
      logFile: join(dir, 'child.log'),
      restart,
    },
    onWarning,
    policy,
  );
}

/** The parts of a process that every user of the machine can see. */
function spawned(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
}

function alive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('a process that ends by itself is started again, and stop ends it for good', async () => {
  const child = node('console.log("up"); setInterval(() => {}, 1000)', true);
  child.start();
  const first = child.pid!;
  await eventually('the first start', () => readFileSync(join(dir, 'child.log'), 'utf8').includes('up'));
  process.kill(first, 'SIGKILL');
  await eventually('another start', () => child.pid !== undefined && child.pid !== first);
  expect(warnings[0]).toContain('SIGKILL');
  const second = child.pid!;
  await child.stop();
  expect(alive(second)).toBe(false);
});

test('a process that keeps ending is started again ever more slowly, until it has lived for a while', async () => {
  const pauses = () => warnings.map((warning) => Number(/in ([\d.]+) s/.exec(warning)?.[1]));
  const ends = node('console.error("no such model"); process.exit(3)', true, {
    firstMs: 1,
    maxMs: 8,
    steadyMs: 60_000,
  });
  ends.start();
  await eventually('more ends than any number of restarts', () => warnings.length >= 8, 20_000);
  await ends.stop();
  expect(pauses().slice(0, 5)).toEqual([0.001, 0.002, 0.004, 0.008, 0.008]);
  expect(warnings[0]).not.toContain('no such model');
  expect(warnings[2]).toContain('no such model');
  warnings.length = 0;
  const lives = node('setTimeout(() => process.exit(3), 50)', true, { firstMs: 1, maxMs: 8, steadyMs: 50 });
  lives.start();
  await eventually('some ends', () => warnings.length >= 3);
  await lives.stop();
  expect(new Set(pauses())).toEqual(new Set([0.001]));
});

test('without restart the end is reported with the tail of the log', async () => {
  const child = node('console.error("no such model"); process.exit(3)');
  child.start();
  await eventually('the report', () => warnings.length > 0);
  expect(warnings.join()).toMatch(/exit code 3.*no such model/s);
  await child.stop();
});

test('children of a process end with it, also when it ignores SIGTERM', async () => {
  const grandchild = 'setInterval(() => {}, 1000)';
  const child = node(
    `const { spawn } = require('node:child_process');
     const kid = spawn(process.execPath, ['-e', ${JSON.stringify(grandchild)}], { stdio: 'ignore' });
     console.log(kid.pid);
     process.on('SIGTERM', () => process.exit(0));
     setInterval(() => {}, 1000);`,
  );
  child.start();
  const log = join(dir, 'child.log');
  await eventually('the grandchild', () => existsSync(log) && /\d+\n/.test(readFileSync(log, 'utf8')));
  const kid = Number(readFileSync(log, 'utf8'));
  expect(alive(kid)).toBe(true);
  await child.stop();
  await eventually('the end of the grandchild', () => !alive(kid));
});

test('a private nats-server listens on loopback and is gone after stop', async () => {
  const nats = await startLocalNats(findNatsServer(), join(dir, 'nats'), join(dir, 'nats.log'), onWarning);
  const port = Number(new URL(nats.url).port);
  const reachable = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(socket.destroy() !== undefined));
      socket.once('error', () => resolve(false));
    });
  expect(new URL(nats.url).hostname).toBe('127.0.0.1');
  expect(await reachable()).toBe(true);
  await nats.stop();
  expect(await reachable()).toBe(false);
});

test('a private nats-server requires the password that is in a file for this user alone', async () => {
  const where = join(dir, 'nats');
  const start = () => startLocalNats(findNatsServer(), where, join(dir, 'nats.log'), onWarning);
  const connect = (options: object) => BusService.connect({ service: 'test', servers: [], ...options });
  const nats = await start();
  for (const wrong of [{}, { user: 'ui-rl', password: 'guessed' }, { user: 'ui-rl', password: '' }]) {
    const refused = connect({ servers: [nats.url], ...wrong });
    await expect(refused).rejects.toMatchObject({ category: 'authorization' });
  }
  for (const name of ['context.json', 'nats.conf', 'password'])
    expect([name, statSync(join(where, name)).mode & 0o777]).toEqual([name, 0o600]);
  const told = readServiceSettings('actor', { ...nats.env });
  const bus = await connect(told.nats);
  expect(await bus.runsBucket.keys()).toEqual([]);
  await bus.close();
  expect(spawned(nats.process.pid!)).not.toContain(nats.connection.password);
  await nats.stop();
  expect(existsSync(nats.contextFile)).toBe(false);
  const again = await start();
  expect(again.connection.password).toBe(nats.connection.password);
  await again.stop();
});

test('a private nats-server takes the usual port where it is free, and another one beside it', async () => {
  const usual = await freePort();
  const start = (name: string) =>
    startLocalNats(findNatsServer(), join(dir, name), join(dir, `${name}.log`), onWarning, {
      usualPort: usual,
    });
  const first = await start('first');
  const second = await start('second');
  expect(first.url).toBe(`nats://127.0.0.1:${usual}`);
  expect(second.url).not.toBe(first.url);
  await Promise.all([first.stop(), second.stop()]);
});

test('a port that another nats-server takes in the meantime is left to it', async () => {
  const usual = await freePort();
  const ports = join(dir, 'ports');
  mkdirSync(ports);
  const late = join(dir, 'late-nats-server');
  const real = findNatsServer();
  // The first start comes too late: another server already listens.
  const rival = `${real} -a 127.0.0.1 -p ${usual} --ports_file_dir ${ports} >/dev/null 2>&1 & echo $! > ${dir}/rival`;
  const waits = `until ls ${ports}/*.ports >/dev/null 2>&1; do sleep 0.05; done`;
  const lines = ['#!/bin/sh', `[ -e ${dir}/rival ] || { ${rival}; ${waits}; }`, `exec ${real} "$@"`];
  writeFileSync(late, lines.join('\n'), { mode: 0o755 });
  const nats = await startLocalNats(late, join(dir, 'late'), join(dir, 'late.log'), onWarning, {
    usualPort: usual,
  });
  try {
    expect(nats.url).not.toBe(`nats://127.0.0.1:${usual}`);
    const { nats: told } = readServiceSettings('actor', { ...nats.env });
    const bus = await BusService.connect(told);
    await bus.close();
  } finally {
    await nats.stop();
    process.kill(Number(readFileSync(join(dir, 'rival'), 'utf8')));
  }
});

describe('withCleanup', () => {
  test('cleans up in reverse order, after success and after an error', async () => {
    const ended: string[] = [];
    const work = (fails: boolean) =>
      withCleanup(async (_signal, onEnd) => {
        onEnd(async () => void ended.push('first'));
        onEnd(async () => void ended.push('second'));
        if (fails) throw new Error('broken');
        return 0;
      });
    expect(await work(false)).toBe(0);
    await expect(work(true)).rejects.toThrow('broken');
    expect(ended).toEqual(['second', 'first', 'second', 'first']);
  });

  test('Ctrl-C aborts the work, cleans up and gives 130', async () => {
    let cleaned = false;
    const code = withCleanup(async (signal, onEnd) => {
      onEnd(async () => void (cleaned = true));
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
      return 0;
    });
    process.emit('SIGINT');
    expect(await code).toBe(130);
    expect(cleaned).toBe(true);
  });
});
