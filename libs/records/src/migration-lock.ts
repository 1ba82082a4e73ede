import { setTimeout as sleep } from 'node:timers/promises';
import { FolderInUseError, lockFolder } from '@ui-rl/settings';
import type { DataSource, QueryRunner } from 'typeorm';

/** An arbitrary constant; it prevents two services from migrating the same database concurrently. */
const LOCK_KEY = 7_246_801_553;
const POLL_MS = 50;

/** Folders of embedded databases. Their clients share one session, which gets an advisory lock twice. */
const embedded = new WeakMap<DataSource, string>();

export function setEmbeddedFolder(dataSource: DataSource, dataDir: string): void {
  embedded.set(dataSource, dataDir);
}

/** Runs work while no other process migrates the database. */
export async function withMigrationLock<T>(
  dataSource: DataSource,
  runner: QueryRunner,
  work: () => Promise<T>,
): Promise<T> {
  const release = await acquire(embedded.get(dataSource), runner);
  try {
    return await work();
  } finally {
    await release();
  }
}

async function acquire(dataDir: string | undefined, runner: QueryRunner): Promise<() => Promise<unknown>> {
  if (dataDir === undefined) {
    await runner.query('SELECT pg_advisory_lock($1)', [LOCK_KEY]);
    return () => runner.query('SELECT pg_advisory_unlock($1)', [LOCK_KEY]);
  }
  for (;;) {
    try {
      return await lockFolder(`${dataDir}.migration`);
    } catch (error) {
      if (!(error instanceof FolderInUseError)) throw error;
      await sleep(POLL_MS);
    }
  }
}
