import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Turn } from '@ui-rl/contracts';
import { startPostgres } from '@ui-rl/testkit';
import { backends, trajectory, type Bed } from '../test/bed';
import {
  type Database,
  findEpisode,
  migrate,
  openDatabase,
  pendingMigrations,
  record,
  RecordsError,
  revertLast,
  schemaDifference,
} from '.';
import { emptyDatabase } from './cluster';

describe.each(backends)('migrations on %s', (_name, start) => {
  let bed: Bed;
  let database: Database;

  beforeAll(async () => {
    bed = await start();
    ({ database } = bed);
  });

  afterAll(() => bed.stop());

  test('go up, down and up again, and leave no difference from the entities', async () => {
    expect(await pendingMigrations(database.dataSource)).not.toHaveLength(0);
    expect(await migrate(database.dataSource)).toEqual(await namesOf(database));
    expect(await schemaDifference(database.dataSource)).toEqual({ up: [], down: [] });
    for (const _ of await namesOf(database)) await revertLast(database.dataSource);
    const left = await database.dataSource.query<unknown[]>(
      `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_name <> 'migrations'`,
    );
    expect(left).toEqual([]);
    await migrate(database.dataSource);
    expect(await migrate(database.dataSource)).toEqual([]);
    expect(await pendingMigrations(database.dataSource)).toEqual([]);
  });

  test('older episodes get what their turns and final states tell of faults and checks', async () => {
    const { dataSource } = database;
    const checks = [
      { path: 'wifi', operator: 'equals', value: true },
      { path: 'sound', operator: 'equals', value: false },
    ] as const;
    const click = { action: 'click', x: 1, y: 2 };
    const turn = (changes: Partial<Turn> = {}) => Object.assign({}, trajectory('r').turns[0], changes);
    const turns = [
      turn({ actions: [], parseError: 'unknown_action: fly', outcome: 'no_action' }),
      ...[click, click].map((action) => turn({ actions: [action], outcome: 'outside_viewport' })),
      turn({ actions: [{ action: 'finish', success: true }] }),
    ].map((each, index) => Object.assign(each, { index }));
    const changes = { turns, success: false, finalState: { wifi: false, sound: false } };
    const judged = trajectory('r-judged', changes);
    judged.request.task.checks = [...checks];
    const episodes = [judged, trajectory('r-bare', { turns: [] })];
    await record(dataSource, { trajectories: episodes, events: [] });
    const columns = `parse_errors, tool_errors, argument_errors, runtime_errors, repeated_actions, reported_success,
      failed_checks`;
    const read = () => dataSource.query<object[]>(`SELECT ${columns} FROM trajectories ORDER BY id`);
    const recorded = await read();
    expect(recorded).toMatchObject([
      { parse_errors: 0, reported_success: null, failed_checks: null },
      {
        ...{ tool_errors: 1, runtime_errors: 2, repeated_actions: 1, reported_success: true },
        failed_checks: ['wifi equals true'],
      },
    ]);
    await revertLast(dataSource);
    await dataSource.query('UPDATE trajectories SET failed_checks = NULL');
    await migrate(dataSource);
    expect(await read()).toEqual(recorded);
    await dataSource.query(`DELETE FROM runs`);
  });

  test('turns recorded before an answer could hold several actions are read like the others', async () => {
    const { dataSource } = database;
    const hasOneAction = async () => {
      const columns = await dataSource.query<{ column_name: string }[]>(
        `SELECT column_name FROM information_schema.columns WHERE table_name = 'turns'`,
      );
      return columns.some(({ column_name: name }) => name === 'action');
    };
    while (!(await hasOneAction())) await revertLast(dataSource);
    const { runId, task } = trajectory('r-old').request;
    await dataSource.query(`INSERT INTO runs (id) VALUES ($1)`, [runId]);
    await dataSource.query(
      `INSERT INTO trajectories (id, run_id, purpose, group_id, group_index, task_id, description, status, reward,
         rewards, turn_count, token_count, request, actor, started_at, finished_at)
       VALUES ('r-old', $1, 'train', 'g', 0, $2, $3, 'completed', 1, '{"task-success":1}', 3, 0, '{}', 'a', now(), now())`,
      [runId, task.id, task.description],
    );
    for (const [index, action] of [`'{"action":"wait","seconds":1}'`, 'NULL', `'null'`].entries()) {
      await dataSource.query(
        `INSERT INTO turns (trajectory_id, index, prompt_token_ids, prompt_images, image_tokens, token_ids, logprobs,
           temperature, policy_version, adapter_digest, text, action, screenshot, policy_ms, env_ms)
         VALUES ('r-old', ${index}, '{}', '{}', 0, '{}', '{}', 1, 0, 'd', '', ${action}, 's', 1, 1)`,
      );
    }
    await migrate(dataSource);
    const turns = (await findEpisode(dataSource, 'r-old'))?.turns;
    expect(turns?.map(({ actions }) => actions)).toEqual([[{ action: 'wait', seconds: 1 }], [], []]);
    expect(turns?.[0]).toMatchObject({ reward: null, rewards: null });
    while (!(await hasOneAction())) await revertLast(dataSource);
    const rows = await dataSource.query<unknown[]>(`SELECT action FROM turns ORDER BY index`);
    expect(rows).toEqual([{ action: { action: 'wait', seconds: 1 } }, { action: null }, { action: null }]);
    await migrate(dataSource);
    await dataSource.query(`DELETE FROM runs`);
  });
});

test('two services that migrate at the same time do not collide', async () => {
  const server = await startPostgres();
  const both = await Promise.all([1, 2].map(() => openDatabase({ kind: 'postgres', url: server.url })));
  const done = await Promise.all(both.map(({ dataSource }) => migrate(dataSource)));
  expect(done.flat()).toEqual(await namesOf(both[0]));
  await Promise.all(both.map((database) => database.close()));
  await server.stop();
});

test('a new embedded database begins with the empty one that the build has made', async () => {
  expect(await emptyDatabase()).toMatch(/dist\/embedded-database-[\d.]+\.tar\.gz$/);
});

test('records from before the process closed the embedded database are there again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ui-rl-records-'));
  const options = { kind: 'pglite', dataDir: join(folder, 'database') } as const;
  const first = await openDatabase(options);
  await migrate(first.dataSource);
  await record(first.dataSource, { trajectories: [trajectory('r-kept')], events: [] });
  await first.close();
  const second = await openDatabase(options);
  expect(await migrate(second.dataSource)).toEqual([]);
  expect((await findEpisode(second.dataSource, 'r-kept'))?.id).toBe('r-kept');
  await second.close();
  await rm(folder, { recursive: true, force: true });
});

test('a folder that holds something else than a database is refused by name', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ui-rl-records-'));
  await writeFile(join(folder, 'letter.txt'), 'dear');
  await expect(openDatabase({ kind: 'pglite', dataDir: folder })).rejects.toThrow(folder);
  expect(await readdir(folder)).toEqual(['letter.txt']);
  await rm(folder, { recursive: true, force: true });
});

test('an unreachable server is named without its password', async () => {
  const attempt = openDatabase({ kind: 'postgres', url: 'postgres://me:secret@127.0.0.1:1/db' });
  await expect(attempt).rejects.toThrow(RecordsError);
  await expect(attempt).rejects.toThrow(/127\.0\.0\.1:1\/db/);
  await expect(attempt).rejects.not.toThrow(/secret/);
});

async function namesOf(database: Database): Promise<string[]> {
  return database.dataSource.migrations.map((migration) => migration.name ?? migration.constructor.name);
}
