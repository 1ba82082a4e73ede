import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, freePort, startFromSource, startNats } from '@ui-rl/testkit';

interface Health {
  status: string;
  service: string;
  waits?: string;
}

async function ask(url: string): Promise<[number, Health]> {
  const response = await fetch(url);
  return [response.status, (await response.json()) as Health];
}

async function measuresOf(url: string): Promise<Record<string, string>> {
  const response = await fetch(`${url}/metrics`);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(lines.map((line) => line.split(/ (?=\S+$)/) as [string, string]));
}

it('ends in order when it is asked to while it waits for NATS', async () => {
  const service = startFromSource('actor', { NATS_URL: `nats://127.0.0.1:${await freePort()}` });
  await service.prints(/waiting for NATS at nats:\/\/127\.0\.0\.1/);
  expect(await service.stop()).toBe(0);
  expect(service.output).not.toContain('service ends');
});

it('says what is wrong with its environment, and ends with exit code 1', async () => {
  const service = startFromSource('actor', { NATS_URL: 'http://127.0.0.1' });
  expect(await service.exited).toBe(1);
  expect(service.output).toMatch(/the actor service ends: .*NATS_URL/s);
});

it('tells supervisors that it lives, and whether it is ready', async () => {
  const nats = await startNats();
  const service = startFromSource('actor', { NATS_URL: nats.url, HEALTH_PORT: '0' });
  try {
    const [, url] = await service.prints(/health at (\S+)\/health/);
    await service.prints(/is ready/);
    expect(await ask(`${url}/ready`)).toEqual([
      200,
      expect.objectContaining({ status: 'ready', service: 'actor' }),
    ]);
    const measures = await measuresOf(url);
    expect(measures).toMatchObject({ 'uirl_ready{service="actor"}': '1' });
    expect(Number(measures['process_resident_memory_bytes{service="actor"}'])).toBeGreaterThan(1e6);
    await nats.stop();
    expect(await measuresOf(url)).toMatchObject({ 'uirl_ready{service="actor"}': '0' });
    const [status, { waits }] = await ask(`${url}/ready`);
    expect([status, waits]).toEqual([503, expect.stringContaining('for NATS')]);
    expect(await ask(`${url}/health`)).toEqual([200, expect.objectContaining({ status: 'ok' })]);
  } finally {
    await service.stop();
    await nats.stop();
  }
});

it('closes what it was opening when it was asked to end', async () => {
  const nats = await startNats();
  const folder = mkdtempSync(join(tmpdir(), 'uirl-opening-'));
  const TMPDIR = join(folder, 'tmp');
  mkdirSync(TMPDIR);
  const env = { NATS_URL: nats.url, UIRL_RUNS_DIR: join(folder, 'runs'), TMPDIR, MONITOR_PORT: '0' };
  const beforeEnd: [string, () => boolean][] = [
    ['the draft of a database', () => readdirSync(join(folder, 'runs')).some((name) => /new-/.test(name))],
    ['the socket of a database', () => readdirSync(TMPDIR).some((name) => name.startsWith('ui-rl-db-'))],
  ];
  try {
    for (const [what, isThere] of beforeEnd) {
      const service = startFromSource('monitor', env);
      await eventually(what, isThere, 120_000, 5);
      expect(await service.stop()).toBe(0);
      expect(readdirSync(TMPDIR).filter((name) => name.startsWith('ui-rl-'))).toEqual([]);
      expect(readdirSync(join(folder, 'runs')).filter((name) => /new-/.test(name))).toEqual([]);
    }
  } finally {
    await nats.stop();
    rmSync(folder, { recursive: true });
  }
}, 300_000);

it('is not ready while it waits for NATS', async () => {
  const address = `127.0.0.1:${await freePort()}`;
  const service = startFromSource('actor', { NATS_URL: `nats://me:secret@${address}`, HEALTH_PORT: '0' });
  const [, url] = await service.prints(/health at (\S+)\/health/);
  await service.prints(/waiting for NATS/);
  const [status, told] = await ask(`${url}/ready`);
  expect([status, told]).toEqual([503, expect.objectContaining({ waits: expect.stringContaining(address) })]);
  expect(JSON.stringify(told)).not.toContain('secret');
  expect(await ask(`${url}/health`)).toEqual([200, expect.objectContaining({ status: 'ok' })]);
  await service.stop();
});

it('ends where the process that started it was killed, though its broker is gone', async () => {
  const nats = await startNats();
  const folder = mkdtempSync(join(tmpdir(), 'uirl-parent-'));
  const log = join(folder, 'log');
  const root = join(__dirname, '../../..');
  const command = [join(root, 'libs/testkit/run-ts.cjs'), join(root, 'services/actor/src/main.ts')];
  const env = { ...process.env, NATS_URL: nats.url, HEALTH_PORT: '0', NO_COLOR: '1' };
  const script = `
    const { openSync } = require('node:fs');
    const log = openSync(${JSON.stringify(log)}, 'a');
    const options = { stdio: ['ignore', log, log, 'ipc'], detached: true };
    require('node:child_process').spawn(process.execPath, ${JSON.stringify(command)}, options);
  `;
  const parent = spawn(process.execPath, ['-e', script], { env });
  try {
    const logged = (): string => (existsSync(log) ? readFileSync(log, 'utf8') : '');
    await eventually('the service to be ready', () => logged().includes('is ready'), 60_000);
    const [, url] = /health at (\S+)\/health/.exec(logged())!;
    await nats.stop();
    expect((await fetch(`${url}/health`)).status).toBe(200);
    parent.kill('SIGKILL');
    const isGone = (): Promise<boolean> =>
      fetch(`${url}/health`).then(
        () => false,
        () => true,
      );
    await eventually('the end of the service', isGone, 20_000);
  } finally {
    await nats.stop();
    rmSync(folder, { recursive: true });
  }
}, 120_000);
