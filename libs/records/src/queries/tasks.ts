import type { DataSource } from 'typeorm';
import type { FailedCheck, TaskHeatMap, TaskRow } from '../views';

const MAX_CHECKS = 100;
const MAX_TASKS = 200;
const MAX_COLUMNS = 24;

/** The checks that failed in most episodes of a run, at most 100. */
export async function listFailedChecks(dataSource: DataSource, runId: string): Promise<FailedCheck[]> {
  return dataSource.query<FailedCheck[]>(
    `SELECT text, count(*)::int AS episodes FROM trajectories, unnest(failed_checks) AS text
     WHERE run_id = $1 GROUP BY text ORDER BY episodes DESC, text LIMIT ${MAX_CHECKS}`,
    [runId],
  );
}

interface CellRow {
  task_id: string;
  description: string;
  total: number;
  place: number;
  successes: number;
  episodes: number;
}

const JUDGED = `run_id = $1 AND purpose = 'train' AND status <> 'invalid' AND success IS NOT NULL
  AND policy_version IS NOT NULL`;

export async function readTaskHeatMap(dataSource: DataSource, runId: string): Promise<TaskHeatMap> {
  const [{ newest }] = await dataSource.query<{ newest: number | null }[]>(
    `SELECT max(policy_version) AS newest FROM trajectories WHERE ${JUDGED}`,
    [runId],
  );
  if (newest === null) return { width: 1, from: [], total: 0, tasks: [] };
  const width = columnWidth(newest + 1);
  const from = Array.from({ length: Math.floor(newest / width) + 1 }, (_, place) => place * width);
  const rows = await dataSource.query<CellRow[]>(
    `SELECT t.task_id, min(t.description) AS description, min(shown.total)::int AS total,
       t.policy_version / $2 AS place, (count(*) FILTER (WHERE t.success))::int AS successes, count(*)::int AS episodes
     FROM trajectories t
     JOIN (SELECT task_id, count(*) OVER () AS total FROM trajectories WHERE ${JUDGED}
       GROUP BY task_id ORDER BY count(*) DESC, task_id LIMIT ${MAX_TASKS}) shown USING (task_id)
     WHERE ${JUDGED} GROUP BY t.task_id, place`,
    [runId, width],
  );
  return { width, from, total: rows[0].total, tasks: taskRows(rows, from.length) };
}

/** 1, 2, 5, 10, 20 …: the smallest that leaves few columns. */
function columnWidth(versions: number): number {
  for (let power = 1; ; power *= 10) {
    const width = [power, 2 * power, 5 * power].find((each) => versions / each <= MAX_COLUMNS);
    if (width !== undefined) return width;
  }
}

function taskRows(rows: readonly CellRow[], columns: number): TaskRow[] {
  const tasks = new Map<string, TaskRow>();
  for (const { task_id: taskId, description, place, successes, episodes } of rows) {
    const cells: TaskRow['cells'] = Array.from({ length: columns }, () => null);
    const task = tasks.get(taskId) ?? { taskId, description, successes: 0, episodes: 0, cells };
    tasks.set(taskId, task);
    task.successes += successes;
    task.episodes += episodes;
    task.cells[place] = [successes, episodes];
  }
  const rate = ({ successes, episodes }: TaskRow) => successes / episodes;
  return [...tasks.values()].toSorted((a, b) => rate(a) - rate(b) || a.taskId.localeCompare(b.taskId));
}
