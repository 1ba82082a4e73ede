import { openDatabase, pendingMigrations, RecordsError, type Database } from '@ui-rl/records';
import type { DatabaseSettings } from '@ui-rl/settings';
import { compareClocks } from './broker';
import { ok, type Check, type Finding } from './finding';

/** Checks the monitor's database. It opens an embedded database, which detects corruption. */
export const databaseCheck = (settings: DatabaseSettings): Check => ({
  subject: 'database',
  look: async () => {
    const database = await openDatabase(settings).catch((error: unknown) => {
      if (error instanceof RecordsError && error.category === 'in_use') return error;
      throw error;
    });
    if (database instanceof RecordsError) return [ok(`embedded PostgreSQL, in use: ${database.message}`)];
    return lookAt(database);
  },
});

async function lookAt(database: Database): Promise<Omit<Finding, 'subject'>[]> {
  const { dataSource, location, kind } = database;
  try {
    const asked = Date.now();
    const [{ now, version }] = await dataSource.query<{ now: Date; version: string }[]>(
      `SELECT clock_timestamp() AS now, current_setting('server_version') AS version`,
    );
    const offset = new Date(now).getTime() - (asked + Date.now()) / 2;
    const pending = await pendingMigrations(dataSource);
    const found = `PostgreSQL ${version}, ${location}`;
    const schema =
      pending.length === 0
        ? ok(`${found}, up to date`)
        : ok(`${found}, ${pending.length} migrations will run when the monitor starts`);
    return kind === 'pglite' ? [schema] : [schema, compareClocks('the database', offset)];
  } finally {
    await database.close();
  }
}
