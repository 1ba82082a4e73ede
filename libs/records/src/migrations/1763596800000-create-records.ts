import type { MigrationInterface, QueryRunner } from 'typeorm';

const tables = [
  `CREATE TABLE "runs" (
    "id" text NOT NULL,
    "created_at" timestamptz NOT NULL DEFAULT now(),
    "config" jsonb NOT NULL DEFAULT '{}',
    "phase" text,
    "phase_since" timestamptz,
    "phase_reason" text,
    CONSTRAINT "runs_pk" PRIMARY KEY ("id")
  )`,
  `CREATE TABLE "trajectories" (
    "id" text NOT NULL,
    "run_id" text NOT NULL,
    "purpose" text NOT NULL,
    "group_id" text NOT NULL,
    "group_index" integer NOT NULL,
    "evaluation_id" text,
    "task_id" text NOT NULL,
    "description" text NOT NULL,
    "status" text NOT NULL,
    "invalid_reason" text,
    "success" boolean,
    "reward" double precision NOT NULL,
    "rewards" jsonb NOT NULL,
    "turn_count" integer NOT NULL,
    "token_count" integer NOT NULL,
    "policy_version" integer,
    "final_screenshot" text,
    "final_state" jsonb,
    "request" jsonb NOT NULL,
    "actor" text NOT NULL,
    "started_at" timestamptz NOT NULL,
    "finished_at" timestamptz NOT NULL,
    "recorded_at" timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT "trajectories_pk" PRIMARY KEY ("id"),
    CONSTRAINT "trajectories_run_fk" FOREIGN KEY ("run_id") REFERENCES "runs" ("id") ON DELETE CASCADE
  )`,
  `CREATE INDEX "trajectories_run_finished" ON "trajectories" ("run_id", "finished_at")`,
  `CREATE INDEX "trajectories_run_version" ON "trajectories" ("run_id", "purpose", "policy_version")`,
  `CREATE INDEX "trajectories_run_task" ON "trajectories" ("run_id", "task_id")`,
  `CREATE TABLE "turns" (
    "trajectory_id" text NOT NULL,
    "index" integer NOT NULL,
    "prompt_token_ids" integer[] NOT NULL,
    "prompt_images" text[] NOT NULL,
    "image_tokens" integer NOT NULL,
    "token_ids" integer[] NOT NULL,
    "logprobs" double precision[] NOT NULL,
    "temperature" double precision NOT NULL,
    "policy_version" integer NOT NULL,
    "adapter_digest" text NOT NULL,
    "text" text NOT NULL,
    "action" jsonb,
    "parse_error" text,
    "outcome" text,
    "screenshot" text NOT NULL,
    "policy_ms" double precision NOT NULL,
    "env_ms" double precision NOT NULL,
    CONSTRAINT "turns_pk" PRIMARY KEY ("trajectory_id", "index"),
    CONSTRAINT "turns_trajectory_fk" FOREIGN KEY ("trajectory_id")
      REFERENCES "trajectories" ("id") ON DELETE CASCADE
  )`,
  `CREATE TABLE "steps" (
    "run_id" text NOT NULL,
    "event_key" text NOT NULL,
    "step" integer NOT NULL,
    "at" timestamptz NOT NULL,
    "metrics" jsonb NOT NULL,
    "rollout_ids" text[] NOT NULL,
    CONSTRAINT "steps_pk" PRIMARY KEY ("run_id", "event_key"),
    CONSTRAINT "steps_run_fk" FOREIGN KEY ("run_id") REFERENCES "runs" ("id") ON DELETE CASCADE
  )`,
  `CREATE INDEX "steps_run_step" ON "steps" ("run_id", "step")`,
  `CREATE TABLE "evaluations" (
    "run_id" text NOT NULL,
    "evaluation_id" text NOT NULL,
    "goal_set" text NOT NULL,
    "stage" text NOT NULL,
    "policy_version" integer NOT NULL,
    "checkpoint" text NOT NULL,
    "success_rate" double precision NOT NULL,
    "interval_low" double precision NOT NULL,
    "interval_high" double precision NOT NULL,
    "episodes" integer NOT NULL,
    "invalid" integer NOT NULL,
    "at" timestamptz NOT NULL,
    CONSTRAINT "evaluations_pk" PRIMARY KEY ("run_id", "evaluation_id", "goal_set"),
    CONSTRAINT "evaluations_run_fk" FOREIGN KEY ("run_id") REFERENCES "runs" ("id") ON DELETE CASCADE
  )`,
  `CREATE TABLE "evaluation_tasks" (
    "run_id" text NOT NULL,
    "evaluation_id" text NOT NULL,
    "goal_set" text NOT NULL,
    "task_id" text NOT NULL,
    "description" text NOT NULL,
    "successes" integer NOT NULL,
    "episodes" integer NOT NULL,
    CONSTRAINT "evaluation_tasks_pk" PRIMARY KEY ("run_id", "evaluation_id", "goal_set", "task_id"),
    CONSTRAINT "evaluation_tasks_evaluation_fk" FOREIGN KEY ("run_id", "evaluation_id", "goal_set")
      REFERENCES "evaluations" ("run_id", "evaluation_id", "goal_set") ON DELETE CASCADE
  )`,
  `CREATE TABLE "checkpoints" (
    "run_id" text NOT NULL,
    "name" text NOT NULL,
    "step" integer NOT NULL,
    "path" text NOT NULL,
    "adapter_digest" text NOT NULL,
    "at" timestamptz NOT NULL,
    CONSTRAINT "checkpoints_pk" PRIMARY KEY ("run_id", "name"),
    CONSTRAINT "checkpoints_run_fk" FOREIGN KEY ("run_id") REFERENCES "runs" ("id") ON DELETE CASCADE
  )`,
  `CREATE TABLE "events" (
    "run_id" text NOT NULL,
    "event_key" text NOT NULL,
    "type" text NOT NULL,
    "at" timestamptz NOT NULL,
    "data" jsonb NOT NULL,
    CONSTRAINT "events_pk" PRIMARY KEY ("run_id", "event_key"),
    CONSTRAINT "events_run_fk" FOREIGN KEY ("run_id") REFERENCES "runs" ("id") ON DELETE CASCADE
  )`,
  `CREATE INDEX "events_run_type" ON "events" ("run_id", "type", "at")`,
  `CREATE TABLE "rollout_starts" (
    "rollout_id" text NOT NULL,
    "run_id" text NOT NULL,
    "actor" text NOT NULL,
    "at" timestamptz NOT NULL,
    CONSTRAINT "rollout_starts_pk" PRIMARY KEY ("rollout_id"),
    CONSTRAINT "rollout_starts_run_fk" FOREIGN KEY ("run_id") REFERENCES "runs" ("id") ON DELETE CASCADE
  )`,
  `CREATE INDEX "rollout_starts_run" ON "rollout_starts" ("run_id")`,
];

export class CreateRecords1763596800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of tables) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      `DROP TABLE "rollout_starts", "events", "checkpoints", "evaluation_tasks", "evaluations", "steps",
        "turns", "trajectories", "runs"`,
    );
  }
}
