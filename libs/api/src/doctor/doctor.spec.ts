import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { connect } from '@nats-io/transport-node';
import { freePort, startNats, startPostgres } from '@ui-rl/testkit';
import { examine, type DoctorOptions } from './doctor';
import type { Finding } from './finding';

Logger.overrideLogger(false);

const before = process.env;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ui-rl-doctor-'));
  process.env = { ...before, UIRL_RUNS_DIR: join(folder, 'runs'), UIRL_CACHE_DIR: join(folder, 'cache') };
});
afterEach(() => {
  process.env = before;
  rmSync(folder, { recursive: true });
});

async function examined(env: Record<string, string>, options?: DoctorOptions) {
  Object.assign(process.env, env);
  const found: Finding[] = [];
  for await (const finding of examine(options)) found.push(finding);
  return (subject: string) => found.filter((each) => each.subject === subject);
}

/** Address of a database that does not answer. */
async function nowhere(): Promise<string> {
  return `postgresql://uirl:hidden@127.0.0.1:${await freePort()}/uirl`;
}

it('finds a machine that has everything, by using it', async () => {
  const [nats, postgres] = await Promise.all([startNats(), startPostgres()]);
  try {
    const about = await examined({ NATS_URL: nats.url, DATABASE_URL: postgres.url });
    expect(about('node')).toMatchObject([
      { status: 'ok', found: expect.stringContaining(process.versions.node) },
    ]);
    expect(about('disk')).toHaveLength(3);
    expect(about('broker')).toMatchObject([
      { status: 'ok', found: expect.stringMatching(/^nats-server \d+\.\d+\.\d+ \(127\.0\.0\.1:\d+\)$/) },
      { status: 'ok', found: expect.stringContaining('messages of at most 8') },
      { status: 'ok', found: expect.stringContaining('JetStream') },
    ]);
    expect(about('database')).toMatchObject([
      { status: 'ok', found: expect.stringMatching(/migrations will run/) },
      { status: 'ok', found: expect.stringContaining('the clock of the database') },
    ]);
    expect(about('model')).toMatchObject([{ status: 'ok', found: expect.stringContaining('small') }]);
    expect(about('environment').at(-1)).toMatchObject({
      status: 'ok',
      found: expect.stringMatching(/browser opened ".+" in \d+ ms/),
    });
  } finally {
    await Promise.all([nats.stop(), postgres.stop()]);
  }
});

it('creates nothing at the broker', async () => {
  const nats = await startNats();
  try {
    await examined({ NATS_URL: nats.url, DATABASE_URL: await nowhere() });
    const connection = await connect({ servers: nats.url });
    const reply = await connection.request('$JS.API.STREAM.NAMES', undefined, { timeout: 5_000 });
    expect(reply.json()).toMatchObject({ total: 0 });
    await connection.close();
  } finally {
    await nats.stop();
  }
});

it('says what would fail, and what mends it', async () => {
  writeFileSync(join(folder, 'no-folder'), '');
  const about = await examined(
    {
      NATS_URL: `nats://127.0.0.1:${await freePort()}`,
      DATABASE_URL: await nowhere(),
      UIRL_RUNS_DIR: join(folder, 'no-folder', 'runs'),
      CHROMIUM_BIN: join(folder, 'no-browser'),
    },
    { runFile: { model: { name: 'smal' } } },
  );
  expect(about('broker')).toMatchObject([
    { status: 'failure', found: expect.stringContaining('does not answer') },
  ]);
  expect(about('database')).toMatchObject([
    { status: 'failure', found: expect.stringContaining('Check DATABASE_URL') },
  ]);
  expect(about('disk')[0]).toMatchObject({
    status: 'failure',
    mend: expect.stringContaining('UIRL_RUNS_DIR'),
  });
  expect(about('model')).toMatchObject([{ status: 'failure' }]);
  expect(about('environment')).toMatchObject([
    { status: 'failure', found: expect.stringContaining('CHROMIUM_BIN') },
  ]);
  expect(JSON.stringify(about('database'))).not.toContain('hidden');
});

it('tells a broker without JetStream, and one that is too small', async () => {
  const plain = await startNats({ jetstream: false, maxPayload: 1024 * 1024 });
  try {
    const about = await examined({ NATS_URL: plain.url, DATABASE_URL: await nowhere() });
    expect(about('broker').slice(1)).toMatchObject([
      { status: 'warning', mend: expect.stringContaining('max_payload') },
      {
        status: 'failure',
        found: expect.stringContaining('JetStream'),
        mend: expect.stringContaining('-js'),
      },
    ]);
  } finally {
    await plain.stop();
  }
});
