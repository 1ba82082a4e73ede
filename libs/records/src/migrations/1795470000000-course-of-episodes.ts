import type { Check } from '@ui-rl/contracts';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ARGUMENT_FAULTS, TOOL_FAULTS } from '../course';
import { failedChecks } from '../failed-checks';

interface OlderEpisode {
  id: string;
  checks: Check[];
  status: 'completed' | 'truncated';
  final_state: Record<string, unknown>;
  last_actions: Record<string, unknown>[] | null;
}

const AT_ONCE = 200;

/**
 * Environment, phases and faults of episodes, and the progress of rollouts. Older episodes get the faults, the agent's
 * own report and the failed checks that their turns and final states tell.
 */
export class CourseOfEpisodes1795470000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE "trajectories"
        ADD "environment" jsonb, ADD "phase_times" jsonb, ADD "verifier" text, ADD "first_success" integer,
        ADD "reported_success" boolean, ADD "parse_errors" integer, ADD "tool_errors" integer,
        ADD "argument_errors" integer, ADD "runtime_errors" integer, ADD "repeated_actions" integer`);
    await runner.query(`
      ALTER TABLE "rollout_starts"
        ADD "purpose" text, ADD "task" text, ADD "phase" text, ADD "turns" integer, ADD "max_turns" integer,
        ADD "heartbeat_at" TIMESTAMP WITH TIME ZONE`);
    await fillIn(runner);
    for (let rest = await withoutFailedChecks(runner, ''); rest.length > 0;) {
      await fillInFailedChecks(runner, rest);
      rest = await withoutFailedChecks(runner, rest[rest.length - 1].id);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE "rollout_starts"
        DROP "heartbeat_at", DROP "max_turns", DROP "turns", DROP "phase", DROP "task", DROP "purpose"`);
    await runner.query(`
      ALTER TABLE "trajectories"
        DROP "repeated_actions", DROP "runtime_errors", DROP "argument_errors", DROP "tool_errors",
        DROP "parse_errors", DROP "reported_success", DROP "first_success", DROP "verifier", DROP "phase_times",
        DROP "environment"`);
  }
}

/** Faults, and the agent's own report, from the turns. */
async function fillIn(runner: QueryRunner): Promise<void> {
  await runner.query(
    `WITH told AS (
       SELECT trajectory_id, index, actions, parse_error, outcome,
         split_part(parse_error, ':', 1) AS reason,
         lag(actions) OVER (PARTITION BY trajectory_id ORDER BY index) AS before,
         row_number() OVER (PARTITION BY trajectory_id ORDER BY index DESC) AS from_end
       FROM turns
     ), counted AS (
       SELECT trajectory_id,
         count(*) FILTER (WHERE parse_error IS NOT NULL AND reason <> ALL($1) AND reason <> ALL($2))::int AS parse,
         count(*) FILTER (WHERE reason = ANY($1))::int AS tool,
         count(*) FILTER (WHERE reason = ANY($2))::int AS argument,
         count(*) FILTER (WHERE parse_error IS NULL AND outcome <> 'ok')::int AS runtime,
         count(*) FILTER (WHERE actions <> '[]' AND actions = before)::int AS repeated,
         bool_or(actions -> -1 -> 'success' = 'true')
           FILTER (WHERE from_end = 1 AND actions -> -1 ->> 'action' = 'finish') AS reported
       FROM told GROUP BY trajectory_id
     )
     UPDATE trajectories t SET
       parse_errors = COALESCE(c.parse, 0), tool_errors = COALESCE(c.tool, 0),
       argument_errors = COALESCE(c.argument, 0), runtime_errors = COALESCE(c.runtime, 0),
       repeated_actions = COALESCE(c.repeated, 0), reported_success = c.reported
     FROM trajectories o LEFT JOIN counted c ON c.trajectory_id = o.id WHERE o.id = t.id`,
    [TOOL_FAULTS, ARGUMENT_FAULTS],
  );
}

/** The next episodes whose checks have results that no column has. */
async function withoutFailedChecks(runner: QueryRunner, after: string): Promise<OlderEpisode[]> {
  return (await runner.query(
    `SELECT t.id, t.request #> '{task,checks}' AS checks, t.status, t.final_state,
       (SELECT u.actions FROM turns u WHERE u.trajectory_id = t.id ORDER BY u.index DESC LIMIT 1) AS last_actions
     FROM trajectories t
     WHERE t.id > $1 AND t.failed_checks IS NULL AND t.status <> 'invalid' AND t.final_state IS NOT NULL
       AND jsonb_typeof(t.request #> '{task,checks}') = 'array'
     ORDER BY t.id LIMIT ${AT_ONCE}`,
    [after],
  )) as OlderEpisode[];
}

async function fillInFailedChecks(runner: QueryRunner, episodes: readonly OlderEpisode[]): Promise<void> {
  const failed = episodes.map(({ id, checks, status, final_state: finalState, last_actions: actions }) => [
    id,
    failedChecks({ request: { task: { checks } }, status, finalState, turns: [{ actions: actions ?? [] }] }),
  ]);
  await runner.query(
    `UPDATE trajectories t SET failed_checks = ARRAY(SELECT jsonb_array_elements_text(f.value))
     FROM jsonb_each($1::jsonb) f WHERE t.id = f.key AND jsonb_typeof(f.value) = 'array'`,
    [JSON.stringify(Object.fromEntries(failed))],
  );
}
