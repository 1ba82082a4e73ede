import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Verdicts of rewards that judge success, besides the verifier's. */
export class TrajectoriesWithVerdicts1795420000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "trajectories" ADD "verdicts" jsonb`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "trajectories" DROP "verdicts"`);
  }
}
