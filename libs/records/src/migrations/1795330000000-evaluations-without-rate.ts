import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An evaluation whose episodes are all invalid has no success rate. */
export class EvaluationsWithoutRate1795330000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "evaluations" ALTER COLUMN "success_rate" DROP NOT NULL`);
    await runner.query(`UPDATE "evaluations" SET "success_rate" = NULL WHERE "episodes" = 0`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`UPDATE "evaluations" SET "success_rate" = 0 WHERE "success_rate" IS NULL`);
    await runner.query(`ALTER TABLE "evaluations" ALTER COLUMN "success_rate" SET NOT NULL`);
  }
}
