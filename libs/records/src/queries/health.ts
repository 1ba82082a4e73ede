import { profileOf, PROFILE_METRICS, type RunProfile, type StepMetrics } from '@ui-rl/contracts';
import type { DataSource } from 'typeorm';
import type { RecordedHealth, RolloutInProgress, Staleness } from '../views';
import { iso, isoOrNull } from './values';

/** How a run does, as far as its records say. */
export async function readHealth(dataSource: DataSource, runId: string): Promise<RecordedHealth> {
  const [{ count }] = await dataSource.query<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM events WHERE run_id = $1 AND type = 'dead_letter'`,
    [runId],
  );
  return {
    profile: await profileIn(dataSource, runId),
    staleness: await stalenessIn(dataSource, runId),
    deadLetters: count,
  };
}

async function profileIn(dataSource: DataSource, runId: string): Promise<RunProfile | null> {
  const rows = await dataSource.query<{ metrics: StepMetrics }[]>(
    `SELECT DISTINCT ON (step) (SELECT jsonb_object_agg(name, metrics -> name) FROM unnest($2::text[]) AS name
       WHERE jsonb_exists(metrics, name)) AS metrics
     FROM steps WHERE run_id = $1 AND jsonb_exists(metrics, 'env/all/episodes') ORDER BY step, steps.at DESC`,
    [runId, PROFILE_METRICS],
  );
  return profileOf(rows.map(({ metrics }) => metrics));
}

const LAG = /^async\/staleness\/(\d+)$/;

/** Of the latest step; null if no step has such metrics. */
async function stalenessIn(dataSource: DataSource, runId: string): Promise<Staleness | null> {
  const [row] = await dataSource.query<{ step: number; metrics: Record<string, number> }[]>(
    `SELECT step, metrics FROM steps WHERE run_id = $1 AND jsonb_exists(metrics, 'async/steps_off_policy_mean')
     ORDER BY step DESC, at DESC LIMIT 1`,
    [runId],
  );
  if (row === undefined) return null;
  const { step, metrics } = row;
  const shares = Object.entries(metrics).flatMap(([name, share]) => {
    const lag = LAG.exec(name)?.[1];
    return lag === undefined ? [] : [{ lag: Number(lag), share }];
  });
  return {
    step,
    mean: metrics['async/steps_off_policy_mean'],
    shares: shares.toSorted((a, b) => a.lag - b.lag),
    tokensMasked: metrics['async/tokens_masked'] ?? 0,
    groupsTooOld: metrics['async/groups_too_old'] ?? 0,
    stragglers: metrics['async/stragglers'] ?? 0,
  };
}

const MAX_IN_PROGRESS = 200;

interface ProgressRow extends Omit<RolloutInProgress, 'startedAt' | 'heartbeatAt'> {
  at: Date;
  heartbeat_at: Date | null;
}

/** Rollouts that are not recorded yet, the oldest first, at most 200. */
export async function listInProgress(dataSource: DataSource, runId: string): Promise<RolloutInProgress[]> {
  const rows = await dataSource.query<ProgressRow[]>(
    `SELECT rollout_id AS "rolloutId", actor, at, heartbeat_at, purpose, task, phase, turns,
       max_turns AS "maxTurns"
     FROM rollout_starts s
     WHERE s.run_id = $1 AND COALESCE(s.heartbeat_at, s.at) > now() - interval '10 minutes'
       AND NOT EXISTS (SELECT 1 FROM trajectories t WHERE t.id = s.rollout_id)
     ORDER BY s.at, s.rollout_id LIMIT ${MAX_IN_PROGRESS}`,
    [runId],
  );
  return rows.map(({ at, heartbeat_at: heartbeat, ...row }) => ({
    ...row,
    startedAt: iso(at),
    heartbeatAt: isoOrNull(heartbeat),
  }));
}
