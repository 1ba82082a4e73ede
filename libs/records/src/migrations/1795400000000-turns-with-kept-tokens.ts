import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the distributions of an answer were cut to: without it, an episode that is trained later is compared with whole ones. */
export class TurnsWithKeptTokens1795400000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "turns" ADD "kept_tokens" text`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "turns" DROP "kept_tokens"`);
  }
}
