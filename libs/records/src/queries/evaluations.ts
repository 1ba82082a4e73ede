import { isPairedSignificant, pairedDifference, wilson, type Pairs } from '@ui-rl/contracts';
import type { DataSource } from 'typeorm';
import type { ComparedScore, EvaluationComparison, EvaluationView, RateDifference } from '../views';
import { evaluationsOf } from './runs';

/** The goal sets that a run evaluates repeatedly. Other names are those of checkpoints, each evaluated separately. */
const GOAL_SETS: readonly string[] = ['train_goals', 'eval_goals'];

/**
 * The evaluations of a run side by side: each goal set separately, and all evaluated checkpoints together.
 *
 * @param to id of the evaluation to compare with; default: the first one
 */
export async function compareEvaluations(
  dataSource: DataSource,
  runId: string,
  to?: string,
): Promise<EvaluationComparison[]> {
  const evaluations = (await evaluationsOf(dataSource, [runId])).get(runId) ?? [];
  const sets = [...GOAL_SETS, null];
  const groups = sets.map((set) => ({ set, evaluations: evaluations.filter((each) => setOf(each) === set) }));
  return Promise.all(
    groups
      .filter((group) => group.evaluations.length > 0)
      .map((group) => compareGroup(dataSource, runId, group, to)),
  );
}

function setOf({ set }: EvaluationView): string | null {
  return GOAL_SETS.includes(set) ? set : null;
}

async function compareGroup(
  dataSource: DataSource,
  runId: string,
  { set, evaluations }: { set: string | null; evaluations: EvaluationView[] },
  wanted: string | undefined,
): Promise<EvaluationComparison> {
  const { evaluationId: to } = evaluations.find((each) => each.evaluationId === wanted) ?? evaluations[0];
  const ids = evaluations.map(({ evaluationId }) => evaluationId);
  const played = await pairsWith(dataSource, runId, to, ids);
  return {
    set,
    to,
    evaluations: evaluations.map((evaluation) => ({
      ...evaluation,
      difference: differenceOf(played.filter((row) => row.evaluation_id === evaluation.evaluationId)),
    })),
    tasks: await tasksOf(dataSource, runId, evaluations, played),
  };
}

interface TaskRow {
  evaluation_id: string;
  goal_set: string;
  task_id: string;
  description: string;
  successes: number;
  episodes: number;
}

async function tasksOf(
  dataSource: DataSource,
  runId: string,
  evaluations: readonly EvaluationView[],
  played: readonly PairRow[],
): Promise<EvaluationComparison['tasks']> {
  const rows = await dataSource.query<TaskRow[]>(
    'SELECT * FROM evaluation_tasks WHERE run_id = $1 AND evaluation_id = ANY($2) ORDER BY task_id',
    [runId, evaluations.map(({ evaluationId }) => evaluationId)],
  );
  const tasks = new Map<string, EvaluationComparison['tasks'][number]>();
  for (const row of rows) {
    const place = evaluations.findIndex(
      ({ evaluationId, set }) => evaluationId === row.evaluation_id && set === row.goal_set,
    );
    if (place < 0) continue;
    const { task_id: taskId, description } = row;
    const task = tasks.get(taskId) ?? { taskId, description, scores: evaluations.map(() => null) };
    const pairs = played.filter(
      (each) => each.task_id === taskId && each.evaluation_id === row.evaluation_id,
    );
    task.scores[place] = scoreOf(row, pairs);
    tasks.set(taskId, task);
  }
  return [...tasks.values()];
}

function scoreOf({ successes, episodes }: TaskRow, pairs: readonly PairRow[]): ComparedScore {
  return { successes, episodes, interval: wilson(successes, episodes), difference: differenceOf(pairs) };
}

interface PairRow {
  evaluation_id: string;
  task_id: string;
  both: number;
  only_first: number;
  only_second: number;
  neither: number;
}

/** Paired outcomes of each evaluation with the one to compare with, by task: evaluations play the same seeds. */
async function pairsWith(
  dataSource: DataSource,
  runId: string,
  to: string,
  ids: readonly string[],
): Promise<PairRow[]> {
  return dataSource.query<PairRow[]>(
    `WITH played AS (
       SELECT evaluation_id, task_id, request ->> 'seed' AS seed, bool_or(success) AS success
       FROM trajectories
       WHERE run_id = $1 AND evaluation_id = ANY($2) AND status <> 'invalid' AND success IS NOT NULL
       GROUP BY evaluation_id, task_id, request ->> 'seed'
     )
     SELECT b.evaluation_id, b.task_id,
       count(*) FILTER (WHERE a.success AND b.success)::int AS both,
       count(*) FILTER (WHERE a.success AND NOT b.success)::int AS only_first,
       count(*) FILTER (WHERE NOT a.success AND b.success)::int AS only_second,
       count(*) FILTER (WHERE NOT a.success AND NOT b.success)::int AS neither
     FROM played a JOIN played b USING (task_id, seed)
     WHERE a.evaluation_id = $3 AND b.evaluation_id <> $3
     GROUP BY b.evaluation_id, b.task_id`,
    [runId, ids, to],
  );
}

function differenceOf(rows: readonly PairRow[]): RateDifference | null {
  const sum = (column: 'both' | 'only_first' | 'only_second' | 'neither') =>
    rows.reduce((total, row) => total + row[column], 0);
  const pairs: Pairs = {
    both: sum('both'),
    onlyFirst: sum('only_first'),
    onlySecond: sum('only_second'),
    neither: sum('neither'),
  };
  const found = pairedDifference(pairs);
  if (found === null) return null;
  const { both, onlyFirst, onlySecond, neither } = pairs;
  return {
    value: found.difference,
    interval: found.interval,
    pairs: both + onlyFirst + onlySecond + neither,
    isSignificant: isPairedSignificant(pairs),
  };
}
