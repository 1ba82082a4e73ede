import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The text of tokens and prompts, and what a step did with each token. */
export class TokenView1795440000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "turns" ADD "token_texts" text array, ADD "prompt_text" text`);
    await runner.query(
      `CREATE TABLE "trained_episodes" ("rollout_id" text NOT NULL, "step" integer NOT NULL, "run_id" text NOT NULL, "advantage" double precision, "turns" jsonb NOT NULL, CONSTRAINT "trained_episodes_pk" PRIMARY KEY ("rollout_id", "step"), CONSTRAINT "trained_episodes_run_fk" FOREIGN KEY ("run_id") REFERENCES "runs"("id") ON DELETE CASCADE)`,
    );
    await runner.query(`CREATE INDEX "trained_episodes_run" ON "trained_episodes" ("run_id")`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE "trained_episodes"`);
    await runner.query(`ALTER TABLE "turns" DROP "prompt_text", DROP "token_texts"`);
  }
}
