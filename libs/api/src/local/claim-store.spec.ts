import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import { findNatsServer } from '@ui-rl/testkit';
import { startLocalNats, type LocalNats } from './nats-server';

Logger.overrideLogger(false);

let dir: string;
const warnings: string[] = [];
const start = (): Promise<LocalNats> =>
  startLocalNats(findNatsServer(), join(dir, 'nats'), join(dir, 'nats.log'), (said) => warnings.push(said));

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ui-rl-claim-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Starts a broker over the same store; the test kills it once it runs. */
async function startAndDie(): Promise<void> {
  const args = [findNatsServer(), join(dir, 'nats'), join(dir, 'nats.log')].map((arg) => JSON.stringify(arg));
  const script = `
    require(${JSON.stringify(join(__dirname, '../../../plugin-kit/src/threads/require-sources.cjs'))});
    const { startLocalNats } = require(${JSON.stringify(join(__dirname, 'nats-server.ts'))});
    startLocalNats(${args.join(', ')}, console.error).then(() => process.kill(process.pid, 'SIGKILL'));
  `;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'ignore', 'inherit'] });
  const signal = await new Promise((resolve) => child.once('exit', (_code, by) => resolve(by)));
  expect(signal).toBe('SIGKILL');
}

const processOf = (): number => Number(readFileSync(join(dir, 'nats/nats.pid'), 'utf8'));

test('a second broker over the same streams is refused, and leaves the first as it is', async () => {
  const first = await start();
  await expect(start()).rejects.toThrow(
    `there is a broker already over the streams in ${join(dir, 'nats')}: process ${process.pid} has it open`,
  );
  expect(existsSync(first.contextFile)).toBe(true);
  const bus = await BusService.connect({ service: 'test', ...first.connection });
  await bus.close();
  await first.stop();
  const second = await start();
  await second.stop();
});

test('a broker whose starter was killed is ended before another one opens its streams', async () => {
  await startAndDie();
  const left = processOf();
  expect(process.kill(left, 0)).toBe(true);
  const nats = await start();
  expect(warnings).toEqual([`a broker that was left behind (process ${left}) is ended`]);
  expect(processOf()).not.toBe(left);
  const bus = await BusService.connect({ service: 'test', ...nats.connection });
  await bus.close();
  await nats.stop();
});
