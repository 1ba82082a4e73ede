import type { DataSource } from 'typeorm';

/** A distance between steps, a power of two so that a growing run keeps its points: at most 32, and the newest. */
const EVERY = 'GREATEST(1, power(2, ceil(log(2, GREATEST(newest, 1) / 32.0))))::int';

/** Share of successes in training at a few steps, by run; runs without any are absent. */
export async function successRates(
  dataSource: DataSource,
  runIds: readonly string[],
): Promise<Map<string, number[]>> {
  const rows = await dataSource.query<{ run_id: string; rates: number[] }[]>(
    `SELECT run_id, array_agg(rate ORDER BY step) AS rates FROM (
       SELECT DISTINCT ON (s.run_id, s.step) s.run_id, s.step,
         round((s.metrics ->> 'env/all/success')::numeric, 2)::float8 AS rate
       FROM steps s
       JOIN (
         SELECT run_id, newest, ${EVERY} AS every
         FROM (SELECT run_id, max(step) AS newest FROM steps WHERE run_id = ANY($1) GROUP BY run_id) latest
         OFFSET 0 -- computes the distance once per run, not per step
       ) runs USING (run_id)
       WHERE s.step % every = 0 OR s.step = newest
       ORDER BY s.run_id, s.step, s.at DESC
     ) points WHERE rate IS NOT NULL GROUP BY run_id`,
    [runIds],
  );
  return new Map(rows.map(({ run_id: id, rates }) => [id, rates]));
}

/** The recorded options of a run. */
export interface RunOptions {
  id: string;
  /** Path → value, without options that are not set; null if the run was announced without a description. */
  values: Record<string, unknown> | null;
  /** The run file, if `values` is null. */
  config: Record<string, unknown> | null;
}

/** In the order of the ids. */
export async function readRunOptions(
  dataSource: DataSource,
  runIds: readonly string[],
): Promise<RunOptions[]> {
  return dataSource.query<RunOptions[]>(
    `SELECT r.id, d.values, CASE WHEN d.values IS NULL THEN r.config END AS config
     FROM runs r LEFT JOIN LATERAL (
       SELECT jsonb_object_agg(o ->> 'path', o -> 'value') AS values
       FROM jsonb_array_elements(CASE WHEN jsonb_typeof(r.configuration) = 'array' THEN r.configuration END) g,
         jsonb_array_elements(g -> 'options') o
       WHERE jsonb_exists(o, 'value')
     ) d ON true
     WHERE r.id = ANY($1) ORDER BY array_position($1::text[], r.id)`,
    [runIds],
  );
}
