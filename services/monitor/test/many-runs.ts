import { makeRollout } from '@ui-rl/testkit';
import type { DataSource } from 'typeorm';

/** A run that trains: 500 steps of 60 metrics, 10,000 episodes. */
export const BUSY = 'busy-run';
/** With `BUSY`. */
export const RUNS = 500;

const EPISODES_OF_BUSY = 10_000;
/** Of each other run. */
const EPISODES = 20;
/** Of the busy run. */
export const STEPS_OF_BUSY = 500;

/** Fills a migrated database with 500 runs, 20,000 episodes and their steps. */
export async function fillWithRuns(dataSource: DataSource): Promise<void> {
  for (const statement of [
    `INSERT INTO runs (id, created_at, config, phase, phase_since)
     SELECT 'run-' || lpad(n::text, 3, '0'), now() - n * interval '1 hour', '{"name": "load"}', 'finished', now()
     FROM generate_series(1, ${RUNS - 1}) n`,
    `INSERT INTO runs (id, created_at, config, phase, phase_since)
     VALUES ('${BUSY}', now() - interval '10 minutes', '{"name": "load"}', 'training', now())`,
    ...episodes(`'${BUSY}'`, 1, EPISODES_OF_BUSY),
    ...episodes(`'run-' || lpad((1 + n % ${RUNS - 1})::text, 3, '0')`, 0, EPISODES * (RUNS - 1)),
    `INSERT INTO steps (run_id, event_key, step, at, metrics, rollout_ids)
     SELECT '${BUSY}', n::text, n, now() - (${STEPS_OF_BUSY} - n) * interval '1 second',
       (SELECT jsonb_object_agg('load/metric_' || k, random() * n) FROM generate_series(1, 55) k)
         || jsonb_build_object('optim/loss', random(), 'optim/entropy', random(), 'env/all/success', random(),
           'env/all/reward/total', random(), 'optim/kl_sample_train_v2', random() * 1e-6, 'optim/tokens', 2000 + n),
       ARRAY(SELECT '1-' || (n * 20 + k) FROM generate_series(1, 20) k)
     FROM generate_series(1, ${STEPS_OF_BUSY}) n`,
    `INSERT INTO checkpoints (run_id, name, step, path, adapter_digest, at)
     SELECT '${BUSY}', lpad(n::text, 6, '0'), n, '/runs/${BUSY}/checkpoints/' || n, encode(sha256(n::text::bytea), 'hex'), now()
     FROM generate_series(10, ${STEPS_OF_BUSY}, 10) n`,
    'ANALYZE',
  ]) {
    await dataSource.query(statement);
  }
}

const REQUEST = JSON.stringify(makeRollout());

/** Statements that insert `count` episodes of one turn; `run` is an expression of their number `n`. */
function episodes(run: string, part: number, count: number): string[] {
  return [
    `INSERT INTO trajectories (id, run_id, purpose, group_id, group_index, task_id, description, status, success,
       reward, rewards, turn_count, token_count, policy_version, request, actor, started_at, finished_at)
     SELECT '${part}-' || n, ${run}, 'train', 'g' || n / 8, n / 8, 'task-' || n % 40, 'Open the settings ' || n % 40,
       'completed', random() < 0.5, random(), '{}', 1, 12, n / 20,
       '${REQUEST}'::jsonb || jsonb_build_object('rolloutId', '${part}-' || n, 'runId', ${run}), 'actor-1',
       now() - (${count} - n) * interval '50 milliseconds' - interval '1 second',
       now() - (${count} - n) * interval '50 milliseconds'
     FROM generate_series(1, ${count}) n`,
    `INSERT INTO turns (trajectory_id, index, prompt_token_ids, prompt_images, image_tokens, token_ids, logprobs,
       temperature, policy_version, adapter_digest, text, actions, screenshot, policy_ms, env_ms)
     SELECT '${part}-' || n, 0, '{1}', '{}', 0, '{2}', '{-1}', 1, n / 20, '', '{"action":"finish"}', '[]',
       encode(sha256(n::text::bytea), 'hex'), 1, 1
     FROM generate_series(1, ${count}) n`,
  ];
}
