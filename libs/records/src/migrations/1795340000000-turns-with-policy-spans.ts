import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Weights may change during an answer: records which policy sampled which of its tokens. */
export class TurnsWithPolicySpans1795340000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "turns" ADD "policy_spans" jsonb`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "turns" DROP "policy_spans"`);
  }
}
