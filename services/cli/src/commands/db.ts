import {
  draftMigration,
  migrate,
  openDatabase,
  pendingMigrations,
  writeMigration,
  type Database,
} from '@ui-rl/records';
import { readCliSettings } from '@ui-rl/settings';
import { Command } from 'commander';

async function withDatabase(work: (database: Database) => Promise<void>): Promise<void> {
  const database = await openDatabase(readCliSettings().database);
  try {
    await work(database);
  } finally {
    await database.close();
  }
}

export function dbCommand(): Command {
  const db = new Command('db').description(
    'manage the database of the monitor (DATABASE_URL or POSTGRES_*; else PGlite)',
  );
  db.command('migrate')
    .description('migrate the schema (the monitor does this at start)')
    .action(() =>
      withDatabase(async ({ dataSource, location }) => {
        const done = await migrate(dataSource);
        console.log(done.length === 0 ? `${location} is up to date` : `${location}: ran ${done.join(', ')}`);
      }),
    );
  db.command('status')
    .description('list pending migrations')
    .action(() =>
      withDatabase(async ({ dataSource, location }) => {
        const pending = await pendingMigrations(dataSource);
        console.log(
          pending.length === 0 ? `${location} is up to date` : `${location}: pending ${pending.join(', ')}`,
        );
      }),
    );
  db.command('rebuild')
    .description('drop the schema and create it again; all records are lost')
    .requiredOption('--yes', 'confirm that the records may be lost')
    .action(() =>
      withDatabase(async ({ dataSource, location }) => {
        await dataSource.dropDatabase();
        await migrate(dataSource);
        console.log(`${location} is empty and up to date`);
      }),
    );
  db.command('generate')
    .description('generate a migration from the entities; for developers')
    .argument('<name>', 'name, in lower-case words joined by "-", such as runs-with-owners')
    .option('--out <dir>', 'folder to write it to', 'libs/records/src/migrations')
    .action((name: string, { out }: { out: string }) =>
      withDatabase(async ({ dataSource, location }) => {
        const draft = await draftMigration(dataSource, name);
        if (draft === null)
          return console.log(`${location} is what the entities say: there is nothing to write`);
        console.log(
          `${await writeMigration(draft, out)}\nread it, then list ${draft.className} in index.ts beside it`,
        );
      }),
    );
  return db;
}
