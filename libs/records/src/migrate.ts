import { type DataSource, MigrationExecutor, type QueryRunner } from 'typeorm';
import { RecordsError } from './errors';

/** An arbitrary constant; it prevents two services from migrating the same database concurrently. */
const LOCK_KEY = 7_246_801_553;

async function locked<T>(dataSource: DataSource, work: (runner: QueryRunner) => Promise<T>): Promise<T> {
  const runner = dataSource.createQueryRunner();
  await runner.connect();
  try {
    await runner.query('SELECT pg_advisory_lock($1)', [LOCK_KEY]);
    try {
      return await work(runner);
    } finally {
      await runner.query('SELECT pg_advisory_unlock($1)', [LOCK_KEY]);
    }
  } finally {
    await runner.release();
  }
}

function executor(dataSource: DataSource, runner: QueryRunner): MigrationExecutor {
  const made = new MigrationExecutor(dataSource, runner);
  made.transaction = 'each';
  return made;
}

/** Runs pending migrations, one transaction each, under an advisory lock. Returns their names. */
export async function migrate(dataSource: DataSource): Promise<string[]> {
  try {
    return await locked(dataSource, async (runner) => {
      const done = await executor(dataSource, runner).executePendingMigrations();
      return done.map((migration) => migration.name);
    });
  } catch (cause) {
    throw new RecordsError('migration', `the database could not be migrated: ${String(cause)}`, { cause });
  }
}

/** Reverts the last migration. */
export async function revertLast(dataSource: DataSource): Promise<void> {
  await locked(dataSource, (runner) => executor(dataSource, runner).undoLastMigration());
}

/** Names of migrations that `migrate` would run. */
export async function pendingMigrations(dataSource: DataSource): Promise<string[]> {
  const pending = await new MigrationExecutor(dataSource).getPendingMigrations();
  return pending.map((migration) => migration.name);
}

/** Statements that convert the migrated database to the entities; empty if the migrations are complete. */
export async function schemaDifference(dataSource: DataSource): Promise<{ up: string[]; down: string[] }> {
  const difference = await dataSource.driver.createSchemaBuilder().log();
  return {
    up: difference.upQueries.map((query) => query.query),
    down: difference.downQueries.map((query) => query.query),
  };
}
