import { type DataSource, type Migration, MigrationExecutor, type QueryRunner } from 'typeorm';
import { RecordsError } from './errors';
import { withMigrationLock } from './migration-lock';

async function locked<T>(dataSource: DataSource, work: (runner: QueryRunner) => Promise<T>): Promise<T> {
  const runner = dataSource.createQueryRunner();
  await runner.connect();
  try {
    return await withMigrationLock(dataSource, runner, () => work(runner));
  } finally {
    await runner.release();
  }
}

function executor(dataSource: DataSource, runner: QueryRunner): MigrationExecutor {
  const made = new MigrationExecutor(dataSource, runner);
  made.transaction = 'each';
  return made;
}

/**
 * Runs pending migrations, one transaction each, while no other process does. Returns their names.
 *
 * @throws RecordsError `newer` if a later version of ui-rl has migrated the database, else `migration`
 */
export async function migrate(dataSource: DataSource): Promise<string[]> {
  try {
    return await locked(dataSource, async (runner) => {
      const migrations = executor(dataSource, runner);
      assertKnown(dataSource, await migrations.getExecutedMigrations());
      const done = await migrations.executePendingMigrations();
      return done.map((migration) => migration.name);
    });
  } catch (cause) {
    if (cause instanceof RecordsError) throw cause;
    throw new RecordsError('migration', `the database could not be migrated: ${String(cause)}`, { cause });
  }
}

function assertKnown({ migrations }: DataSource, executed: readonly Migration[]): void {
  const known = new Set(migrations.map((migration) => migration.name ?? migration.constructor.name));
  const unknown = executed.map(({ name }) => name).filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  throw new RecordsError(
    'newer',
    `a later version of ui-rl has written these records (${unknown.join(', ')}): expected at most ${[...known].at(-1)}. Use that version, or another folder of runs (UIRL_RUNS_DIR)`,
  );
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
