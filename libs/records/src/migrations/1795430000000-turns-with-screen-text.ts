import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The screen's text that a policy read, such as an accessibility tree. */
export class TurnsWithScreenText1795430000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "turns" ADD "screen_text" text`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "turns" DROP "screen_text"`);
  }
}
