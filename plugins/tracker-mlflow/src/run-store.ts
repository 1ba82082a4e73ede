import { ServerError, type Server } from './server';

/**
 * Maximum size of one request (https://mlflow.org/docs/latest/rest-api.html#request-limits), with a margin for the
 * envelope.
 */
const MAX_BYTES = 900_000;
const MAX_METRICS = 1_000;
const MAX_PARAMS = 100;
const MAX_PARAM_CHARACTERS = 500;
const HISTORY_PAGE = 10_000;
/** The tag that identifies a run. */
export const RUN_TAG = 'ui_rl.run_id';

export interface Point {
  key: string;
  value: number;
  /** Milliseconds since 1970. */
  timestamp: number;
  step: number;
}

export interface StoredRun {
  id: string;
  /** The point with the largest step of each metric. */
  latest: Point[];
}

interface RunAnswer {
  info: { run_id: string };
  data?: { metrics?: AnsweredPoint[] };
}

interface AnsweredPoint {
  key: string;
  value: number | string;
  timestamp: number | string;
  step?: number | string;
}

/** The stored data of runs on a server. */
export class RunStore {
  constructor(private readonly server: Server) {}

  /** The id of an experiment; creates it if necessary. */
  async experiment(name: string): Promise<string> {
    const find = async (): Promise<string> => {
      const query = { experiment_name: name };
      const found = await this.server.get<{ experiment: { experiment_id: string } }>(
        'experiments/get-by-name',
        query,
      );
      return found.experiment.experiment_id;
    };
    try {
      return await find();
    } catch (error) {
      if (!(error instanceof ServerError) || error.status !== 404) throw error;
    }
    try {
      return (await this.server.post<{ experiment_id: string }>('experiments/create', { name }))
        .experiment_id;
    } catch (error) {
      // Another learner created it meanwhile.
      if (error instanceof ServerError && error.status === 400) return find();
      throw error;
    }
  }

  /** The run with our run id; undefined if there is none. */
  async find(experimentId: string, runId: string): Promise<StoredRun | undefined> {
    const { runs = [] } = await this.server.post<{ runs?: RunAnswer[] }>('runs/search', {
      experiment_ids: [experimentId],
      filter: `tags.\`${RUN_TAG}\` = '${runId}'`,
      max_results: 1,
      order_by: ['attributes.start_time DESC'],
    });
    return runs.length === 0 ? undefined : storedRun(runs[0]);
  }

  async read(id: string): Promise<StoredRun> {
    return storedRun((await this.server.get<{ run: RunAnswer }>('runs/get', { run_id: id })).run);
  }

  async create(experimentId: string, name: string, tags: Readonly<Record<string, string>>): Promise<string> {
    const { run } = await this.server.post<{ run: RunAnswer }>('runs/create', {
      experiment_id: experimentId,
      run_name: name,
      start_time: Date.now(),
      tags: Object.entries(tags).map(([key, value]) => ({ key, value })),
    });
    return run.info.run_id;
  }

  async setStatus(id: string, status: 'RUNNING' | 'FINISHED'): Promise<void> {
    const end = status === 'FINISHED' ? { end_time: Date.now() } : {};
    await this.server.post('runs/update', { run_id: id, status, ...end });
  }

  async setTag(id: string, key: string, value: string): Promise<void> {
    await this.server.post('runs/set-tag', { run_id: id, key, value });
  }

  /** The server can restore it. */
  async delete(id: string): Promise<void> {
    await this.server.post('runs/delete', { run_id: id });
  }

  /** Idempotent. */
  async logParams(id: string, params: Readonly<Record<string, string>>): Promise<void> {
    const all = Object.entries(params).map(([key, value]) => ({
      key,
      value: value.slice(0, MAX_PARAM_CHARACTERS),
    }));
    for (let at = 0; at < all.length; at += MAX_PARAMS) {
      await this.server.post('runs/log-batch', { run_id: id, params: all.slice(at, at + MAX_PARAMS) });
    }
  }

  /** Appends points, including duplicates. Accepts at most `batchOf(points)`. */
  async logMetrics(id: string, metrics: readonly Point[]): Promise<void> {
    const written = metrics.map(({ value, ...rest }) => ({ ...rest, value: jsonNumber(value) }));
    await this.server.post('runs/log-batch', { run_id: id, metrics: written });
  }

  /** Every point of a metric. */
  async history(id: string, key: string): Promise<Point[]> {
    const points: Point[] = [];
    for (let page: string | undefined = ''; page !== undefined;) {
      const query = { run_id: id, metric_key: key, max_results: String(HISTORY_PAGE) };
      const answer: { metrics?: AnsweredPoint[]; next_page_token?: string } = await this.server.get(
        'metrics/get-history',
        {
          ...query,
          ...(page === '' ? {} : { page_token: page }),
        },
      );
      points.push(...(answer.metrics ?? []).map(pointOf));
      page = answer.next_page_token === '' ? undefined : answer.next_page_token;
    }
    return points;
  }
}

/** JSON has no NaN and infinities; protobuf's JSON mapping, which MLflow uses, writes them as strings. */
function jsonNumber(value: number): number | string {
  return Number.isFinite(value) ? value : String(value);
}

/** As many leading points as fit into one request. */
export function batchOf(points: readonly Point[]): Point[] {
  let bytes = 0;
  const fits = points.slice(0, MAX_METRICS).findIndex((point) => {
    bytes += Buffer.byteLength(JSON.stringify(point)) + 1;
    return bytes > MAX_BYTES;
  });
  return points.slice(0, fits < 0 ? MAX_METRICS : fits);
}

function storedRun({ info, data }: RunAnswer): StoredRun {
  return { id: info.run_id, latest: (data?.metrics ?? []).map(pointOf) };
}

/** Servers write 64-bit numbers as strings or numbers, and omit zeros. */
function pointOf({ key, value, timestamp, step }: AnsweredPoint): Point {
  return { key, value: Number(value), timestamp: Number(timestamp), step: Number(step ?? 0) };
}
