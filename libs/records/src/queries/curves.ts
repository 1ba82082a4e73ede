import { independentDifference, isIndependentSignificant } from '@ui-rl/contracts';
import type { DataSource } from 'typeorm';
import type { Curves, StepCurves, TaskScoreView, TrainingCurve } from '../views';

/**
 * The data of a run's charts. The cost grows with the run's episodes; cache it for frequent requests.
 * @param wanted names of metrics; default: all
 */
export async function readCurves(
  dataSource: DataSource,
  runId: string,
  wanted?: readonly string[],
): Promise<Curves> {
  return {
    training: await trainingCurve(dataSource, runId),
    steps: await stepCurves(dataSource, runId, wanted),
    throughput: await throughput(dataSource, runId),
  };
}

interface TrainingRow {
  version: number;
  success_rate: number | null;
  reward: number | null;
  episodes: number;
  invalid: number;
  turns: number | null;
}

async function trainingCurve(dataSource: DataSource, runId: string): Promise<TrainingCurve> {
  const rows = await dataSource.query<TrainingRow[]>(
    `SELECT policy_version AS version,
       (avg(success::int) FILTER (WHERE status <> 'invalid'))::float8 AS success_rate,
       (avg(reward) FILTER (WHERE status <> 'invalid'))::float8 AS reward,
       (avg(turn_count) FILTER (WHERE status <> 'invalid'))::float8 AS turns,
       count(*)::int AS episodes,
       (count(*) FILTER (WHERE status = 'invalid'))::int AS invalid
     FROM trajectories
     WHERE run_id = $1 AND purpose = 'train' AND policy_version IS NOT NULL
     GROUP BY policy_version ORDER BY policy_version`,
    [runId],
  );
  return {
    version: rows.map((row) => row.version),
    successRate: rows.map((row) => row.success_rate),
    reward: rows.map((row) => row.reward),
    episodes: rows.map((row) => row.episodes),
    invalid: rows.map((row) => row.invalid),
    turns: rows.map((row) => row.turns),
  };
}

interface StepRow {
  step: number;
  at: Date;
  episodes: number;
  metrics: Record<string, number>;
}

/** The number of trained tokens of a step. */
const TOKENS = 'optim/tokens';

async function stepCurves(
  dataSource: DataSource,
  runId: string,
  wanted: readonly string[] | undefined,
): Promise<StepCurves> {
  // "||" decompresses the metrics of a step once, not for each name.
  const some = `(SELECT jsonb_object_agg(name, whole -> name)
    FROM (SELECT metrics || '{}' AS whole OFFSET 0) one, unnest($2::text[]) AS name WHERE jsonb_exists(whole, name))`;
  const rows = await dataSource.query<StepRow[]>(
    `SELECT DISTINCT ON (step) step, at, cardinality(rollout_ids) AS episodes,
       ${wanted === undefined ? 'metrics' : `COALESCE(${some}, '{}')`} AS metrics
     FROM steps WHERE run_id = $1 ORDER BY step, steps.at DESC`,
    wanted === undefined ? [runId] : [runId, [...wanted, TOKENS]],
  );
  const present = new Set(rows.flatMap((row) => Object.keys(row.metrics)));
  const names = [...present].filter((name) => wanted?.includes(name) ?? true).toSorted();
  const column = (name: string) => rows.map((row) => row.metrics[name] ?? null);
  return {
    step: rows.map((row) => row.step),
    at: rows.map((row) => secondsOf(row.at)),
    tokens: sums(rows.map((row) => row.metrics[TOKENS] ?? 0)),
    episodes: sums(rows.map((row) => row.episodes)),
    metrics: Object.fromEntries(names.map((name) => [name, column(name)])),
  };
}

function secondsOf(date: Date): number {
  return date.getTime() / 1_000;
}

/** The sum up to and including each place. */
function sums(values: readonly number[]): number[] {
  let sum = 0;
  return values.map((value) => (sum += value));
}

/** Names of all metrics that steps of a run have. */
export async function listMetrics(dataSource: DataSource, runId: string): Promise<string[]> {
  const rows = await dataSource.query<{ name: string }[]>(
    'SELECT DISTINCT jsonb_object_keys(metrics) AS name FROM steps WHERE run_id = $1 ORDER BY name',
    [runId],
  );
  return rows.map(({ name }) => name);
}

/** Interval lengths in seconds; the finest with at most 120 points is used. */
const INTERVALS = [10, 30, 60, 300, 900, 3600, 21_600, 86_400];

interface BucketRow {
  from: Date;
  to: Date;
  episodes: number;
  invalid: number;
}

async function throughput(dataSource: DataSource, runId: string): Promise<Curves['throughput']> {
  const rows = await dataSource.query<BucketRow[]>(
    `SELECT min(started_at) AS from, max(finished_at) AS to, count(*)::int AS episodes,
       (count(*) FILTER (WHERE status = 'invalid'))::int AS invalid
     FROM trajectories WHERE run_id = $1
     GROUP BY date_bin('${INTERVALS[0]} seconds', finished_at, 'epoch') ORDER BY 2`,
    [runId],
  );
  const [{ is_over: isOver }] = await dataSource.query<{ is_over: boolean }[]>(
    `SELECT (SELECT phase IN ('finished', 'failed', 'stopped') FROM runs WHERE id = $1) IS TRUE AS is_over`,
    [runId],
  );
  const from = Math.min(...rows.map((row) => secondsOf(row.from)));
  const to = rows.length === 0 ? 0 : secondsOf(rows[rows.length - 1].to);
  const seconds = INTERVALS.find((length) => (to - from) / length <= 120) ?? INTERVALS[INTERVALS.length - 1];
  // An active run that has no new episode is slow: the time since the last one counts.
  const until = isOver ? to : Math.max(to, Date.now() / 1_000);
  const bucketOf = (row: BucketRow) => Math.floor(secondsOf(row.to) / seconds);
  const first = rows.length === 0 ? 0 : bucketOf(rows[0]);
  const count = rows.length === 0 ? 0 : bucketOf(rows[rows.length - 1]) - first + 1;
  // A pause is drawn as zeros, not as a gap.
  const zeros = () => Array.from({ length: Math.min(count, 2_000) }, () => 0);
  const [episodes, invalid] = [zeros(), zeros()];
  for (const row of rows) {
    const index = bucketOf(row) - first;
    if (index >= episodes.length) break;
    episodes[index] += row.episodes;
    invalid[index] += row.invalid;
  }
  const buckets = episodes.map((_, index) => first + index);
  return {
    seconds,
    at: buckets.map((bucket) => bucket * seconds),
    covered: buckets.map((bucket) => {
      const [start, end] = [Math.max(bucket * seconds, from), Math.min((bucket + 1) * seconds, until)];
      return Math.max(0, end - start);
    }),
    episodes,
    invalid,
  };
}

interface TaskScoreRow {
  goal_set: string;
  task_id: string;
  description: string;
  baseline: boolean;
  successes: number;
  episodes: number;
}

/** Every evaluated task, before training and at the latest evaluation. */
export async function readTaskScores(dataSource: DataSource, runId: string): Promise<TaskScoreView[]> {
  const rows = await dataSource.query<TaskScoreRow[]>(
    `SELECT DISTINCT ON (t.goal_set, t.task_id, e.stage = 'baseline')
       t.goal_set, t.task_id, t.description, e.stage = 'baseline' AS baseline, t.successes, t.episodes
     FROM evaluation_tasks t
     JOIN evaluations e USING (run_id, evaluation_id, goal_set)
     WHERE t.run_id = $1
     ORDER BY t.goal_set, t.task_id, e.stage = 'baseline', e.at DESC`,
    [runId],
  );
  const byTask = new Map<string, TaskScoreView>();
  for (const row of rows) {
    const key = `${row.goal_set}\n${row.task_id}`;
    const view = byTask.get(key) ?? {
      set: row.goal_set,
      taskId: row.task_id,
      description: row.description,
      before: null,
      after: null,
      change: null,
    };
    view[row.baseline ? 'before' : 'after'] = { successes: row.successes, episodes: row.episodes };
    byTask.set(key, view);
  }
  return [...byTask.values()].map((view) => ({ ...view, change: changeOf(view) }));
}

function changeOf({ before, after }: TaskScoreView): TaskScoreView['change'] {
  const change = before === null || after === null ? null : independentDifference(before, after);
  if (change === null) return null;
  const { difference: value, interval } = change;
  return { value, interval, isSignificant: isIndependentSignificant(before!, after!) };
}
