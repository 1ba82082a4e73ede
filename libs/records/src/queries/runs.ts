import type { DataSource } from 'typeorm';
import { RunEntity } from '../entities';
import { storable } from '../rows';
import type {
  CheckpointView,
  EvaluationView,
  ListedRun,
  LogEntry,
  RunDetail,
  RunFilter,
  RunLabels,
  RunSort,
  RunSummary,
  ServiceSign,
} from '../views';
import { successRates } from './run-columns';
import { iso, isoOrNull } from './values';

interface RunRow extends RunLabels {
  id: string;
  created_at: Date;
  phase: string | null;
  phase_since: Date | null;
  phase_reason: string | null;
  steps: number;
  /** All, and invalid ones. */
  episodes: [number, number];
}

const RUNS = `
  SELECT r.id, r.created_at, r.phase, r.phase_since, r.phase_reason, r.name, r.notes, r.tags, r.archived,
    COALESCE((SELECT max(s.step) FROM steps s WHERE s.run_id = r.id), 0)::int AS steps,
    (SELECT ARRAY[count(*), count(*) FILTER (WHERE t.status = 'invalid')]::int[]
     FROM trajectories t WHERE t.run_id = r.id) AS episodes
  FROM runs r`;

/**
 * Runs that were created or have at least one episode, newest first; a mention in an invalid message does not count.
 */
const LISTED = `
  WHERE (r.phase IS NOT NULL OR r.config <> '{}'::jsonb
    OR EXISTS (SELECT 1 FROM trajectories t WHERE t.run_id = r.id))`;
const MAX_PAGE = 200;

/** The values by which runs are sorted, of the row with this alias. */
const SORTS: Record<RunSort, (run: string) => string> = {
  created: (run) => `${run}.created_at`,
  id: (run) => `${run}.id`,
  steps: (run) => `COALESCE((SELECT max(s.step) FROM steps s WHERE s.run_id = ${run}.id), 0)`,
  episodes: (run) => `(SELECT count(*) FROM trajectories t WHERE t.run_id = ${run}.id)`,
  success: (run) => `COALESCE((SELECT e.success_rate FROM evaluations e
    WHERE e.run_id = ${run}.id AND e.goal_set = 'eval_goals' AND e.stage <> 'baseline'
    ORDER BY e.at DESC LIMIT 1), -1)`,
};

/** Runs, by default newest first. An unknown cursor counts as the start. */
export async function listRuns(dataSource: DataSource, filter: RunFilter = {}): Promise<ListedRun[]> {
  const { rest, values } = selected(filter);
  const rows = await dataSource.query<RunRow[]>(`${RUNS}${rest}`, values);
  const ids = rows.map(({ id }) => id);
  const evaluations = await evaluationsOf(dataSource, ids);
  const rates = await successRates(dataSource, ids);
  return rows.map((row) => ({
    ...summary(row, evaluations.get(row.id) ?? []),
    successRates: rates.get(row.id) ?? [],
  }));
}

/** The ids of the runs that `listRuns` lists. */
export async function listRunIds(dataSource: DataSource, filter: RunFilter): Promise<string[]> {
  const { rest, values } = selected(filter);
  const rows = await dataSource.query<{ id: string }[]>(`SELECT r.id FROM runs r${rest}`, values);
  return rows.map(({ id }) => id);
}

/** The end of a statement that selects the runs `r` of a filter, in its order. */
function selected({
  search = '',
  archived = 'no',
  sort = 'created',
  order = 'desc',
  before = '',
  limit = MAX_PAGE,
}: RunFilter): { rest: string; values: unknown[] } {
  const values: unknown[] = [Math.min(Math.max(limit, 1), MAX_PAGE)];
  const by = SORTS[sort];
  const [direction, isAfter] = order === 'asc' ? ['ASC', '>'] : ['DESC', '<'];
  let where = LISTED;
  if (archived === 'no') where += ' AND NOT r.archived';
  if (search !== '') where += ` AND ${matches(`$${values.push(`%${search.replace(/[\\%_]/g, '\\$&')}%`)}`)}`;
  if (before !== '') {
    const last = `(SELECT ${by('b')}, b.id FROM runs b WHERE b.id = $${values.push(before)})`;
    where += ` AND COALESCE((${by('r')}, r.id) ${isAfter} ${last}, true)`;
  }
  return { rest: `${where} ORDER BY ${by('r')} ${direction}, r.id ${direction} LIMIT $1`, values };
}

/** Whether the texts of a run `r` contain a pattern. */
function matches(pattern: string): string {
  const texts = 'ARRAY[r.id, r.name, r.notes] || r.tags';
  return `EXISTS (SELECT 1 FROM unnest(${texts}) AS part WHERE part ILIKE ${pattern})`;
}

/** Changes the labels of a run; null if no message named such a run. */
export async function editRun(
  dataSource: DataSource,
  id: string,
  changes: Partial<RunLabels>,
): Promise<RunLabels | null> {
  const runs = dataSource.getRepository(RunEntity);
  if (Object.keys(changes).length > 0) await runs.update({ id }, storable(changes));
  const run = await runs.findOneBy({ id });
  if (run === null) return null;
  const { name, notes, tags, archived } = run;
  return { name, notes, tags, archived };
}

/** The recorded run file of a run. */
export type RecordedConfiguration = Pick<RunEntity, 'config' | 'configuration'>;

/** Null if no message named such a run. */
export async function findConfiguration(
  dataSource: DataSource,
  id: string,
): Promise<RecordedConfiguration | null> {
  const [row] = await dataSource.query<RecordedConfiguration[]>(
    'SELECT config, configuration FROM runs WHERE id = $1',
    [id],
  );
  return row ?? null;
}

interface DetailRow extends RunRow {
  config: Record<string, unknown>;
  in_progress: number;
  untrained: number;
  /** The latest change, if any. */
  pause: { at: string; paused: boolean; reason: string | null } | null;
}

const DETAIL = `
  SELECT listed.*, whole.config,
    (SELECT count(*)::int FROM rollout_starts s
     WHERE s.run_id = $1 AND COALESCE(s.heartbeat_at, s.at) > now() - interval '10 minutes'
       AND NOT EXISTS (SELECT 1 FROM trajectories t WHERE t.id = s.rollout_id)) AS in_progress,
    (SELECT count(*)::int FROM trajectories
     WHERE run_id = $1 AND purpose = 'train' AND status <> 'invalid'
       AND finished_at > COALESCE((SELECT max(at) FROM steps WHERE run_id = $1), '-infinity')) AS untrained,
    (SELECT jsonb_build_object('at', at, 'paused', data -> 'paused', 'reason', data -> 'reason') FROM events
     WHERE run_id = $1 AND type = 'pause' ORDER BY at DESC LIMIT 1) AS pause
  FROM (${RUNS} WHERE r.id = $1) listed JOIN runs whole USING (id)`;

/** Null if no message named such a run. */
export async function findRun(dataSource: DataSource, id: string): Promise<RunDetail | null> {
  const [row] = await dataSource.query<DetailRow[]>(DETAIL, [id]);
  if (row === undefined) return null;
  const evaluations = await evaluationsOf(dataSource, [id]);
  return {
    ...summary(row, evaluations.get(id) ?? []),
    config: row.config,
    checkpoints: await checkpointsOf(dataSource, id),
    log: await logOf(dataSource, id),
    inProgress: row.in_progress,
    services: await signsOf(dataSource, id),
    untrained: row.untrained,
    ...pauseOf(row),
  };
}

function summary(row: RunRow, evaluations: EvaluationView[]): RunSummary {
  const [episodes, invalid] = row.episodes;
  return {
    id: row.id,
    name: row.name,
    notes: row.notes,
    tags: row.tags,
    archived: row.archived,
    createdAt: iso(row.created_at),
    phase: row.phase,
    phaseSince: isoOrNull(row.phase_since),
    phaseReason: row.phase_reason,
    steps: row.steps,
    episodes,
    invalid,
    evaluations,
  };
}

interface EvaluationRow {
  run_id: string;
  evaluation_id: string;
  goal_set: string;
  stage: EvaluationView['stage'];
  policy_version: number;
  checkpoint: string;
  success_rate: number | null;
  mean_reward: number | null;
  interval_low: number;
  interval_high: number;
  episodes: number;
  invalid: number;
  at: Date;
}

/** By run, in chronological order. */
export async function evaluationsOf(
  dataSource: DataSource,
  runIds: string[],
): Promise<Map<string, EvaluationView[]>> {
  const rows = await dataSource.query<EvaluationRow[]>(
    `SELECT e.*,
       CASE WHEN e.success_rate IS NULL THEN (
         SELECT avg(t.reward)::float8 FROM trajectories t
         WHERE t.run_id = e.run_id AND t.evaluation_id = e.evaluation_id AND t.status <> 'invalid'
       ) END AS mean_reward
     FROM evaluations e WHERE run_id = ANY($1) ORDER BY at, goal_set`,
    [runIds],
  );
  const byRun = new Map<string, EvaluationView[]>();
  for (const row of rows) byRun.set(row.run_id, [...(byRun.get(row.run_id) ?? []), evaluationView(row)]);
  return byRun;
}

function evaluationView(row: EvaluationRow): EvaluationView {
  return {
    evaluationId: row.evaluation_id,
    stage: row.stage,
    set: row.goal_set,
    policyVersion: row.policy_version,
    checkpoint: row.checkpoint,
    successRate: row.success_rate,
    meanReward: row.mean_reward,
    interval: [row.interval_low, row.interval_high],
    episodes: row.episodes,
    invalid: row.invalid,
    at: iso(row.at),
  };
}

async function checkpointsOf(dataSource: DataSource, runId: string): Promise<CheckpointView[]> {
  const rows = await dataSource.query<
    { name: string; step: number; path: string; adapter_digest: string; at: Date }[]
  >('SELECT * FROM checkpoints WHERE run_id = $1 ORDER BY step DESC, at DESC', [runId]);
  return rows.map((row) => ({
    name: row.name,
    step: row.step,
    path: row.path,
    adapterDigest: row.adapter_digest,
    at: iso(row.at),
  }));
}

async function logOf(dataSource: DataSource, runId: string): Promise<LogEntry[]> {
  const rows = await dataSource.query<{ type: string; at: Date; data: Record<string, unknown> }[]>(
    `SELECT type, at, data FROM events
     WHERE run_id = $1 AND type IN ('phase', 'pause', 'service_ready', 'warning', 'dead_letter') ORDER BY at DESC LIMIT 100`,
    [runId],
  );
  return rows.map((row) => ({ type: row.type, at: iso(row.at), data: row.data }));
}

/** Each service leaves other traces: what it published last. */
const SIGNS = `
  (SELECT data ->> 'service' AS service, at, 'started' AS sign FROM events
   WHERE run_id = $1 AND type = 'service_ready')
  UNION ALL (SELECT data ->> 'service', at, 'warned: ' || (data ->> 'message') FROM events
   WHERE run_id = $1 AND type = 'warning')
  UNION ALL (SELECT 'actor', at, 'started an episode' FROM rollout_starts
   WHERE run_id = $1 ORDER BY at DESC LIMIT 1)
  UNION ALL (SELECT 'actor', heartbeat_at, 'plays an episode' FROM rollout_starts
   WHERE run_id = $1 AND heartbeat_at IS NOT NULL ORDER BY heartbeat_at DESC LIMIT 1)
  UNION ALL (SELECT 'actor', finished_at, 'ended an episode' FROM trajectories
   WHERE run_id = $1 ORDER BY finished_at DESC LIMIT 1)
  UNION ALL (SELECT 'learner', at, 'trained step ' || step FROM steps
   WHERE run_id = $1 ORDER BY at DESC LIMIT 1)
  UNION ALL (SELECT 'learner', at, 'saved the checkpoint of step ' || step FROM checkpoints
   WHERE run_id = $1 ORDER BY at DESC LIMIT 1)
  UNION ALL (SELECT 'evaluator', at, 'evaluated ' || goal_set FROM evaluations
   WHERE run_id = $1 ORDER BY at DESC LIMIT 1)`;

async function signsOf(dataSource: DataSource, runId: string): Promise<ServiceSign[]> {
  const rows = await dataSource.query<{ service: string; at: Date; sign: string }[]>(
    `SELECT DISTINCT ON (service) service, at, sign FROM (${SIGNS}) signs ORDER BY service, at DESC`,
    [runId],
  );
  return rows
    .map(({ service, at, sign }) => ({ service, at: iso(at), sign }))
    .toSorted((a, b) => b.at.localeCompare(a.at));
}

function pauseOf({ phase, pause }: DetailRow): Pick<RunDetail, 'pausedSince' | 'pauseReason'> {
  if (pause?.paused !== true || ['finished', 'failed', 'stopped'].includes(phase ?? ''))
    return { pausedSince: null, pauseReason: null };
  return { pausedSince: new Date(pause.at).toISOString(), pauseReason: pause.reason };
}
