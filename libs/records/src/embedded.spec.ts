import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DEADLINES } from '@ui-rl/retry';
import { eventually } from '@ui-rl/testkit';
import { trajectory } from '../test/bed';
import { type Database, findEpisode, migrate, openDatabase, pendingMigrations, record } from '.';
import { startEmbedded } from './embedded';

const ROOT = join(__dirname, '../../..');

let folder: string;
let dataDir: string;
const ends: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ui-rl-embedded-'));
  dataDir = join(folder, 'database');
});
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
  await rm(folder, { recursive: true, force: true });
});

async function open(): Promise<Database> {
  const database = await openDatabase({ kind: 'pglite', dataDir });
  ends.push(() => database.close());
  return database;
}

/** A process that records episodes of a run. */
interface Writer {
  child: ChildProcess;
  /** Episodes that it has committed. */
  written: string[];
}

function startWriter(runId: string): Writer {
  const args = [join(ROOT, 'libs/testkit/run-ts.cjs'), join(__dirname, '../test/writer.ts'), dataDir, runId];
  // Killed processes leave their sockets behind.
  const env = { ...process.env, TMPDIR: folder };
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'], env });
  const written: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => written.push(line));
  const gone = once(child, 'exit');
  ends.push(async () => {
    child.kill('SIGKILL');
    await gone;
  });
  return { child, written };
}

async function kill({ child }: Writer): Promise<void> {
  const gone = once(child, 'close');
  child.kill('SIGKILL');
  await gone;
}

test('of several processes that write at once, some killed, each finds all that it has written, unmixed', async () => {
  const first = startWriter('first');
  await eventually('the first process to write', () => first.written.length > 3, 60_000);
  const second = startWriter('second');
  await eventually('both to write', () => second.written.length > 3, 60_000);
  const before = second.written.length;
  // The second one takes over the folder that the first one had open.
  await kill(first);
  await eventually('the second to write alone', () => second.written.length > before + 3, 60_000);
  const third = startWriter('third');
  await eventually('the third to write', () => third.written.length > 3, 60_000);
  await kill(second);
  await kill(third);

  const { dataSource } = await open();
  expect(await pendingMigrations(dataSource)).toEqual([]);
  const rows = await dataSource.query<{ id: string; run_id: string; actor: string; turns: number }[]>(
    `SELECT id, run_id, actor, (SELECT count(*) FROM turns WHERE trajectory_id = t.id)::int AS turns
     FROM trajectories t`,
  );
  const ids = rows.map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining([...first.written, ...second.written, ...third.written]));
  const strange = rows.filter(
    ({ id, run_id: run, actor, turns }) => !id.startsWith(`${run}-`) || actor !== run || turns !== 1,
  );
  expect(strange).toEqual([]);
}, 240_000);

test('the statements and transactions of two clients do not mix', async () => {
  const [one, two] = [await open(), await open()];
  await one.dataSource.query('CREATE TABLE counted (client text, n int)');
  const ask = async ({ dataSource }: Database, client: string): Promise<void> => {
    for (let n = 0; n < 40; n += 1) {
      const [row] = await dataSource.query<unknown[]>('SELECT $1::text AS client, $2::int AS n', [client, n]);
      expect(row).toEqual({ client, n });
      await dataSource
        .transaction(async (manager) => {
          await manager.query('INSERT INTO counted VALUES ($1, $2)', [client, n]);
          const [{ count }] = await manager.query<{ count: number }[]>(
            'SELECT count(*)::int AS count FROM counted WHERE client = $1',
            [client],
          );
          expect(count).toBe(Math.ceil(n / 2) + 1);
          if (n % 2 === 1) throw new Error('rolled back');
        })
        .catch((error: Error) => {
          if (error.message !== 'rolled back') throw error;
        });
    }
  };
  await Promise.all([ask(one, 'one'), ask(two, 'two')]);
  await expect(two.dataSource.query('SELECT nonsense')).rejects.toThrow('nonsense');
  expect(await one.dataSource.query('SELECT count(*)::int AS count FROM counted')).toEqual([{ count: 40 }]);
});

test('a client that ends within a transaction loses it, and keeps no other client waiting', async () => {
  const [one, two] = [await open(), await open()];
  await one.dataSource.query('CREATE TABLE kept (n int)');
  const runner = two.dataSource.createQueryRunner();
  await runner.startTransaction();
  await runner.query('INSERT INTO kept VALUES (1)');
  const waits = one.dataSource.query<unknown[]>('SELECT * FROM kept');
  const connection = (await runner.connect()) as unknown as { connection: { stream: { destroy(): void } } };
  connection.connection.stream.destroy();
  expect(await waits).toEqual([]);
  await runner.release().catch(() => undefined);
  expect(await two.dataSource.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('when the process with the folder closes, another one continues', async () => {
  const first = await openDatabase({ kind: 'pglite', dataDir });
  await Promise.all([migrate(first.dataSource), open().then(({ dataSource }) => migrate(dataSource))]);
  const second = await open();
  await record(first.dataSource, { trajectories: [trajectory('r-first')], events: [] });
  await first.close();
  await eventually('the other to have it open', async () => {
    await record(second.dataSource, { trajectories: [trajectory('r-second')], events: [] });
    return true;
  });
  for (const id of ['r-first', 'r-second']) expect((await findEpisode(second.dataSource, id))?.id).toBe(id);
});

test('the signal that ends an opening does not end an open database', async () => {
  const stopping = new AbortController();
  const server = await startEmbedded(dataDir, stopping.signal);
  ends.push(() => server.stop());
  stopping.abort();
  const socket = connect(join(server.socketFolder, `.s.PGSQL.${server.port}`));
  // A request for encryption, which is declined.
  socket.write(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  expect(answer.toString()).toBe('N');
});

test('a process that has the folder open and does not answer is named', async () => {
  const other = spawn('sleep', ['60']);
  ends.push(async () => other.kill());
  await writeFile(`${dataDir}.lock`, String(other.pid));
  const limit = jest.replaceProperty(DEADLINES, 'embeddedDatabase', {
    ...DEADLINES.embeddedDatabase,
    ms: 200 as never,
  });
  try {
    await expect(openDatabase({ kind: 'pglite', dataDir })).rejects.toMatchObject({
      category: 'in_use',
      message: expect.stringMatching(
        new RegExp(`${dataDir}.*process ${other.pid} has it open: stop that one`),
      ),
    });
  } finally {
    limit.restore();
  }
});

test('records of a later version are left alone', async () => {
  const { dataSource } = await open();
  await migrate(dataSource);
  await dataSource.query(
    `INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'Later9999999999999')`,
  );
  await expect(migrate(dataSource)).rejects.toMatchObject({
    category: 'newer',
    message: expect.stringMatching(/later version .*Later9999999999999.*UIRL_RUNS_DIR/),
  });
});

test('a client that does not speak the protocol is disconnected', async () => {
  const server = await startEmbedded(dataDir);
  ends.push(() => server.stop());
  const socket = connect(join(server.socketFolder, `.s.PGSQL.${server.port}`));
  socket.on('error', () => undefined).write('GET / HTTP/1.1\r\n\r\n');
  await once(socket.resume(), 'close');
  const { dataSource } = await open();
  expect(await dataSource.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('it removes what it needed', async () => {
  const database = await openDatabase({ kind: 'pglite', dataDir });
  await migrate(database.dataSource);
  await database.close();
  expect(await readdir(folder)).toEqual(['database']);
});
