import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Stores the help of a run's options beside its run file. */
export class RunsWithConfiguration1795320000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "runs" ADD "configuration" jsonb`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "runs" DROP "configuration"`);
  }
}
