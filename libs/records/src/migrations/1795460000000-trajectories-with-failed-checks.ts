import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The checks that an episode failed, for a filter. Older episodes have none recorded. */
export class TrajectoriesWithFailedChecks1795460000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "trajectories" ADD "failed_checks" text array`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "trajectories" DROP "failed_checks"`);
  }
}
