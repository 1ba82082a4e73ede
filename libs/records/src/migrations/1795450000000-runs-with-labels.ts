import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Name, notes, tags and archive of runs. */
export class RunsWithLabels1795450000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `ALTER TABLE "runs" ADD "name" text NOT NULL DEFAULT '', ADD "notes" text NOT NULL DEFAULT '', ADD "tags" text array NOT NULL DEFAULT '{}', ADD "archived" boolean NOT NULL DEFAULT false`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "runs" DROP "archived", DROP "tags", DROP "notes", DROP "name"`);
  }
}
