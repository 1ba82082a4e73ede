import { connect } from 'node:net';
import { Client } from 'pg';
import { instantiate } from '@ui-rl/bus';
import { RolloutRequest, Task, Trajectory } from '@ui-rl/contracts';
import {
  eventually,
  FaultyProxy,
  freePort,
  Launched,
  makeRollout,
  makeTask,
  makeTrajectory,
  startNats,
  startPostgres,
  startService,
} from './index';

describe('launchers', () => {
  it('brings nats-server back on its port and leaves no process', async () => {
    const nats = await startNats({ maxPayload: 2 * 1024 * 1024 });
    const banner = await read(nats.port);
    expect(JSON.parse(banner.replace(/^INFO /, ''))).toMatchObject({
      jetstream: true,
      max_payload: 2 * 1024 * 1024,
    });
    await nats.restart();
    expect(await read(nats.port)).toContain('INFO');
    await nats.stop();
    await expect(read(nats.port)).rejects.toThrow(/ECONNREFUSED/);
  });

  it('says why nats-server does not start', async () => {
    await expect(startNats({ config: 'nonsense {' })).rejects.toThrow(/nats-server ended: .*/s);
  });

  it('runs its own PostgreSQL, through a crash', async () => {
    const postgres = await startPostgres();
    await query(postgres.url, 'create table t as select 41 + 1 as answer');
    await postgres.kill();
    await postgres.launch();
    expect(await query(postgres.url, 'select answer from t')).toEqual([{ answer: 42 }]);
    await postgres.stop();
    await expect(query(postgres.url, 'select 1')).rejects.toThrow(/ECONNREFUSED/);
  });

  it('captures output, and names a service that is not built', async () => {
    const child = Launched.start(process.execPath, [
      '-e',
      'console.log("ready"); setInterval(() => {}, 1000)',
    ]);
    await child.prints(/ready/);
    await child.kill();
    expect(child.running).toBe(false);
    expect(() => startService('no-such-service', {})).toThrow(/no-such-service.*run "npm run build" first/);
  });
});

describe('FaultyProxy', () => {
  it('delays, swallows and cuts', async () => {
    const nats = await startNats({ jetstream: false });
    const proxy = await FaultyProxy.start(nats.port);
    expect(await read(proxy.port)).toContain('INFO');
    proxy.delay(200);
    const started = Date.now();
    await read(proxy.port);
    expect(Date.now() - started).toBeGreaterThanOrEqual(190);
    proxy.blackhole(true);
    await expect(read(proxy.port, 300)).rejects.toThrow(/nothing came/);
    proxy.blackhole(false);
    proxy.stall(true);
    const late = read(proxy.port);
    await expect(read(proxy.port, 300)).rejects.toThrow(/nothing came/);
    proxy.stall(false);
    expect(await late).toContain('INFO');
    proxy.cut(true);
    await expect(read(proxy.port, 300)).rejects.toThrow(/nothing came|closed|ECONNRESET/);
    proxy.heal();
    expect(await read(proxy.port)).toContain('INFO');
    await proxy.stop();
    await nats.stop();
  });
});

it('finds ports without a listener', async () => {
  await expect(read(await freePort())).rejects.toThrow(/ECONNREFUSED/);
});

it('stops waiting and reports what it saw last', async () => {
  await expect(eventually('a miracle', () => null, 50)).rejects.toThrow(
    /waiting for a miracle; last seen: null/,
  );
});

it('makes messages that pass their own validation', () => {
  expect(instantiate(makeTask(), Task)).toMatchObject({ ok: true });
  expect(instantiate(makeRollout(), RolloutRequest)).toMatchObject({ ok: true });
  expect(instantiate(makeTrajectory(), Trajectory)).toMatchObject({ ok: true });
  expect(makeRollout({ groupId: 'g', indexInGroup: 3 }).rolloutId).toBe('g-r3');
});

/** The first data that a server sends. */
async function read(port: number, timeoutMs = 5_000): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      socket.destroy();
      settle();
    };
    const timer = setTimeout(() => finish(() => reject(new Error('nothing came'))), timeoutMs);
    socket.once('data', (data) => finish(() => resolve(data.toString())));
    socket.once('error', (error) => finish(() => reject(error)));
    socket.once('end', () => finish(() => reject(new Error('nothing came'))));
    socket.once('close', () => finish(() => reject(new Error('closed'))));
  });
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  const result = await client.query<Record<string, unknown>>(sql);
  await client.end();
  return result.rows;
}
