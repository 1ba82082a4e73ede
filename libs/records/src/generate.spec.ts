import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres, type PostgresServer } from '@ui-rl/testkit';
import { type Database, draftMigration, migrate, openDatabase, schemaDifference, writeMigration } from '.';

let server: PostgresServer;
let database: Database;
let folder: string;

beforeAll(async () => {
  server = await startPostgres();
  database = await openDatabase({ kind: 'postgres', url: server.url });
  folder = await mkdtemp(join(tmpdir(), 'uirl-migrations-'));
}, 60_000);

afterAll(async () => {
  await database.close();
  await server.stop();
  await rm(folder, { recursive: true });
});

const query = (statement: string) => database.dataSource.query<unknown>(statement);

/** The statements of a list in the text of a migration. */
function statements(text: string, list: 'up' | 'down'): string[] {
  const body = text.split(`const ${list} = [`)[1].split('];')[0];
  return [...body.matchAll(/^ {2}`(.*)`,$/gm)].map(([, statement]) => statement);
}

describe('a generated migration', () => {
  it('waits for the migrations there are', async () => {
    await expect(draftMigration(database.dataSource, 'too-early')).rejects.toThrow(/have not run yet/);
  });

  it('is not made if nothing differs, or under an invalid file name', async () => {
    await migrate(database.dataSource);
    expect(await draftMigration(database.dataSource, 'nothing')).toBeNull();
    await expect(draftMigration(database.dataSource, '../escape')).rejects.toThrow(/not a migration name/);
  });

  it('brings the database to what the entities say, and back', async () => {
    await query('ALTER TABLE "checkpoints" DROP COLUMN "adapter_digest"');
    const draft = await draftMigration(database.dataSource, 'digests-again', new Date(1_800_000_000_000));
    const path = await writeMigration(draft!, folder);
    expect(path).toBe(join(folder, '1800000000000-digests-again.ts'));
    const text = await readFile(path, 'utf8');
    expect(text).toContain('export class DigestsAgain1800000000000 implements MigrationInterface');
    for (const statement of statements(text, 'up')) await query(statement);
    expect((await schemaDifference(database.dataSource)).up).toEqual([]);
    for (const statement of statements(text, 'down')) await query(statement);
    expect((await schemaDifference(database.dataSource)).up).toEqual(statements(text, 'up'));
  });

  it('never takes the place of a file', async () => {
    const draft = { file: '1800000000000-digests-again.ts', className: 'X', text: '' };
    await expect(writeMigration(draft, folder)).rejects.toThrow(/EEXIST/);
  });
});
