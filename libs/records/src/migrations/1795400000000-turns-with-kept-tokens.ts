import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Kept tokens of cut distributions: without them, training on the episode later would compare with whole
 * distributions.
 */
export class TurnsWithKeptTokens1795400000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "turns" ADD "kept_tokens" text`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "turns" DROP "kept_tokens"`);
  }
}
