import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { eventually, findNatsServer, processesNaming, running } from '@ui-rl/testkit';
import { serverName } from './claim-store';
import { startLocalNats } from './nats-server';

const RUN_TS = join(__dirname, '../../../testkit/run-ts.cjs');
const OWNER = join(__dirname, '../../test/broker-owner.ts');

let dir: string;
let owner: ChildProcess | undefined;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ui-rl-guard-'));
});
afterEach(() => {
  owner?.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

/** A separate process that owns a broker, as a command does. */
async function ownBroker(kind: 'temporary' | 'kept'): Promise<{ pid: number; port: number }> {
  owner = spawn(process.execPath, [RUN_TS, OWNER, findNatsServer(), dir, kind], {
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  const [line] = (await once(createInterface(owner.stdout!), 'line')) as [string];
  const { url, pid } = JSON.parse(line) as { url: string; pid: number };
  return { pid, port: Number(new URL(url).port) };
}

const guards = () => processesNaming(`ui-rl-broker-guard ${dir}`);

const ended = (pid: number) => eventually('the end of the broker', () => running([pid]).length === 0);

test('a broker ends with a command that is killed, and a temporary folder with its password goes', async () => {
  const { pid, port } = await ownBroker('temporary');
  expect(existsSync(join(dir, 'nats/context.json'))).toBe(true);
  // Kills the whole group, as a terminal or an init system does.
  process.kill(-owner!.pid!, 'SIGKILL');
  await ended(pid);
  expect(await serverName(port)).toBeUndefined();
  await eventually('the folder to go', () => !existsSync(dir));
});

test('of a folder that is kept only the file goes that tells of the broker', async () => {
  const { pid } = await ownBroker('kept');
  owner!.kill('SIGKILL');
  await ended(pid);
  expect(existsSync(join(dir, 'nats/context.json'))).toBe(false);
  expect(existsSync(join(dir, 'nats/password'))).toBe(true);
  expect(existsSync(join(dir, 'nats/jetstream'))).toBe(true);
});

test('a broker that was started again by then ends, too', async () => {
  const { pid: first, port } = await ownBroker('temporary');
  process.kill(first, 'SIGKILL');
  const pidFile = () => Number(readFileSync(join(dir, 'nats/nats.pid'), 'utf8'));
  const second = await eventually('another start', async () => {
    const found = pidFile();
    return found !== first && (await serverName(port)) !== undefined ? found : null;
  });
  expect(running([second])).toEqual([second]);
  owner!.kill('SIGKILL');
  await ended(second);
});

test('the broker of a command that follows a killed one in the same folder keeps running', async () => {
  const { pid: left } = await ownBroker('kept');
  owner!.kill('SIGKILL');
  await once(owner!, 'exit');
  const nats = await startLocalNats(findNatsServer(), join(dir, 'nats'), join(dir, 'nats.log'), () => {});
  await eventually('the end of the first one', () => running([left]).length === 0);
  await eventually('the end of its guard', () => guards().length === 1);
  expect(await serverName(Number(new URL(nats.url).port))).toBeDefined();
  expect(existsSync(nats.contextFile)).toBe(true);
  await nats.stop();
});

test('nothing is left of a guard whose broker ended in order', async () => {
  const nats = await startLocalNats(findNatsServer(), join(dir, 'nats'), join(dir, 'nats.log'), () => {});
  expect(guards()).toHaveLength(1);
  await nats.stop();
  await eventually('the end of the guard', () => guards().length === 0);
});
