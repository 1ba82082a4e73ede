import type { DataSource } from 'typeorm';
import { RunEntity } from '../entities';

/** Deletes a run with all of its records. Returns whether there was one. */
export async function deleteRun(dataSource: DataSource, id: string): Promise<boolean> {
  const { affected } = await dataSource.getRepository(RunEntity).delete({ id });
  return (affected ?? 0) > 0;
}

/** Returns the space of deleted rows to the file system. Locks each table for as long as it is rewritten. */
export async function reclaimSpace(dataSource: DataSource): Promise<void> {
  await dataSource.query('VACUUM FULL');
  await dataSource.query('CHECKPOINT');
}
