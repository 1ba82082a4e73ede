import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An answer has a list of actions, rewards score turns, too, and an episode has an initial state. */
const up = [
  `ALTER TABLE "turns" ADD "actions" jsonb, ADD "reward" double precision, ADD "rewards" jsonb`,
  `UPDATE "turns" SET "actions" =
    CASE WHEN jsonb_typeof("action") = 'object' THEN jsonb_build_array("action") ELSE '[]'::jsonb END`,
  `ALTER TABLE "turns" ALTER "actions" SET NOT NULL, DROP "action"`,
  `ALTER TABLE "trajectories" ADD "initial_state" jsonb`,
];

/** Keeps the first of several actions. */
const down = [
  `ALTER TABLE "trajectories" DROP "initial_state"`,
  `ALTER TABLE "turns" ADD "action" jsonb`,
  `UPDATE "turns" SET "action" = "actions" -> 0`,
  `ALTER TABLE "turns" DROP "actions", DROP "reward", DROP "rewards"`,
];

export class TurnsWithSeveralActions1795305600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of up) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of down) await runner.query(statement);
  }
}
