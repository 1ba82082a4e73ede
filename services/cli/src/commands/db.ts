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
    'the database of the monitor (DATABASE_URL or POSTGRES_*; else PGlite)',
  );
  db.command('migrate')
    .description('bring the schema up to date (the monitor does so by itself when it starts)')
    .action(() =>
      withDatabase(async ({ dataSource, location }) => {
        const done = await migrate(dataSource);
        console.log(done.length === 0 ? `${location} is up to date` : `${location}: ran ${done.join(', ')}`);
      }),
    );
  db.command('status')
    .description('name migrations that have not run')
    .action(() =>
      withDatabase(async ({ dataSource, location }) => {
        const pending = await pendingMigrations(dataSource);
        console.log(
          pending.length === 0 ? `${location} is up to date` : `${location}: pending ${pending.join(', ')}`,
        );
      }),
    );
  db.command('rebuild')
    .description('drop everything in the schema and create it anew; the records are lost')
    .requiredOption('--yes', 'confirm that the records may be lost')
    .action(() =>
      withDatabase(async ({ dataSource, location }) => {
        await dataSource.dropDatabase();
        await migrate(dataSource);
        console.log(`${location} is empty and up to date`);
      }),
    );
  db.command('generate')
    .description('write a migration from the migrated database to what the entities say; for developers')
    .argument('<name>', 'what changes, in lower-case words joined by "-": runs-with-owners')
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
