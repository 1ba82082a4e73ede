import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What rewards that judge by themselves say of an episode, beside the verifier. */
export class TrajectoriesWithVerdicts1795420000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "trajectories" ADD "verdicts" jsonb`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "trajectories" DROP "verdicts"`);
  }
}
