import {
  createServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { posix } from 'node:path';

/**
 * Limits of one request from https://mlflow.org/docs/latest/rest-api.html: size below 1 MB, and maximum numbers of
 * items.
 */
const LIMITS = { bytes: 1_000_000, metrics: 1_000, params: 100, tags: 100, items: 1_000 };
const KEY = /^[\p{L}\p{N}_\-. /:]{1,250}$/u;

interface Metric {
  key: string;
  value: number;
  timestamp: number;
  step: number;
}

export interface FakeRun {
  id: string;
  name: string;
  status: string;
  isDeleted: boolean;
  tags: Map<string, string>;
  params: Map<string, string>;
  /** Appended, as by a server with a file store. */
  metrics: Metric[];
}

/** A fault for a request: an error, or its effect without a reply. */
export type Fault = (
  path: string,
  body: Record<string, unknown>,
) => 'lose reply' | 'half' | number | undefined;

class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** A fake MLflow server according to the REST API's documentation, with data in memory and configurable faults. */
export class FakeMlflow {
  readonly experiments = new Map<string, string>();
  readonly runs: FakeRun[] = [];
  readonly requests: string[] = [];
  authorization: string | undefined;
  fault: Fault = () => undefined;
  /** Servers on Windows reject colons. */
  onWindows = false;
  private readonly http: HttpServer;

  private constructor() {
    this.http = createServer((request, response) => void this.answer(request, response));
  }

  static async start(): Promise<FakeMlflow> {
    const server = new FakeMlflow();
    await new Promise<void>((resolve) => server.http.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get uri(): string {
    return `http://127.0.0.1:${(this.http.address() as AddressInfo).port}`;
  }

  /** Runs that are not deleted. */
  get active(): FakeRun[] {
    return this.runs.filter(({ isDeleted }) => !isDeleted);
  }

  async stop(): Promise<void> {
    this.http.closeAllConnections();
    await new Promise((resolve) => this.http.close(resolve));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.uri);
    const path = pathname.replace('/api/2.0/mlflow/', '');
    this.requests.push(path);
    this.authorization = request.headers.authorization;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body = (text === '' ? Object.fromEntries(searchParams) : JSON.parse(text)) as Record<
      string,
      unknown
    >;
    const fault = this.fault(path, body);
    try {
      if (typeof fault === 'number') throw new ApiError(fault, 'INTERNAL_ERROR', 'as it was asked to');
      if (text.length >= LIMITS.bytes) throw invalid(`the request has ${text.length} bytes`);
      if (fault === 'half') {
        const metrics = body.metrics as Metric[];
        this.logBatch({ ...body, metrics: metrics.slice(0, metrics.length / 2) });
        throw new ApiError(500, 'INTERNAL_ERROR', 'the other half was not stored');
      }
      const answer = this.handle(path, body);
      if (fault === 'lose reply') return void response.destroy();
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const { status, code, message } = error;
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error_code: code, message }));
    }
  }

  private handle(path: string, body: Record<string, unknown>): object {
    switch (path) {
      case 'experiments/get-by-name': {
        const id = this.experiments.get(String(body.experiment_name));
        if (id === undefined) throw new ApiError(404, 'RESOURCE_DOES_NOT_EXIST', 'no such experiment');
        return { experiment: { experiment_id: id, name: body.experiment_name } };
      }
      case 'experiments/create': {
        const name = String(body.name);
        if (this.experiments.has(name)) throw new ApiError(400, 'RESOURCE_ALREADY_EXISTS', 'it exists');
        this.experiments.set(name, String(this.experiments.size + 1));
        return { experiment_id: this.experiments.get(name) };
      }
      case 'runs/create':
        return { run: view(this.create(body)) };
      case 'runs/search':
        return this.search(String(body.filter));
      case 'runs/get':
        return { run: view(this.run(body)) };
      case 'runs/update':
        this.run(body).status = String(body.status);
        return {};
      case 'runs/delete':
        this.run(body).isDeleted = true;
        return {};
      case 'runs/set-tag':
        this.run(body).tags.set(String(body.key), String(body.value));
        return {};
      case 'runs/log-batch':
        return this.logBatch(body);
      case 'metrics/get-history':
        return this.history(body);
      default:
        throw new ApiError(404, 'ENDPOINT_NOT_FOUND', path);
    }
  }

  private create({ experiment_id, run_name, tags = [] }: Record<string, unknown>): FakeRun {
    if (![...this.experiments.values()].includes(String(experiment_id)))
      throw new ApiError(404, 'RESOURCE_DOES_NOT_EXIST', 'no such experiment');
    const run: FakeRun = {
      id: `id${this.runs.length}`,
      name: String(run_name),
      status: 'RUNNING',
      isDeleted: false,
      tags: new Map((tags as { key: string; value: string }[]).map(({ key, value }) => [key, value])),
      params: new Map(),
      metrics: [],
    };
    this.runs.push(run);
    return run;
  }

  private search(filter: string): object {
    const [, key, value] = /^tags\.`([^`]+)` = '([^']*)'$/.exec(filter)!;
    const found = this.active.toReversed().find(({ tags }) => tags.get(key) === value);
    // An empty list is omitted.
    return found === undefined ? {} : { runs: [view(found)] };
  }

  private logBatch({ metrics = [], params = [], tags = [], ...rest }: Record<string, unknown>): object {
    const run = this.run(rest);
    const lists = { metrics, params, tags } as Record<string, Metric[]>;
    for (const [name, list] of Object.entries(lists)) {
      if (list.length > LIMITS[name as 'metrics']) throw invalid(`${list.length} ${name}`);
      for (const { key } of list) if (!this.accepts(key)) throw invalid(`"${key}" cannot be a key`);
    }
    for (const { key, value } of lists.params) {
      if (String(value).length > 6_000) throw invalid(`${key} is too long`);
      if ((run.params.get(key) ?? String(value)) !== String(value)) throw invalid(`${key} was another one`);
      run.params.set(key, String(value));
    }
    for (const { key, value } of lists.metrics) {
      if (value === null) throw invalid(`Missing value for required parameter "${key}"`);
    }
    run.metrics.push(
      ...lists.metrics.map((metric) => ({ ...metric, value: Number(metric.value as number | string) })),
    );
    return {};
  }

  /** Like `_validate_metric_name` of MLflow 3. */
  private accepts(key: string): boolean {
    if (this.onWindows && key.includes(':')) return false;
    return KEY.test(key) && posix.normalize(key) === key && !/^(\/|\.)|\/$/.test(key);
  }

  private history({
    metric_key,
    max_results = '25000',
    page_token = '0',
    ...rest
  }: Record<string, unknown>): object {
    const all = this.run(rest).metrics.filter(({ key }) => key === metric_key);
    const from = Number(page_token);
    const to = from + Math.min(Number(max_results), 2);
    const next = to < all.length ? { next_page_token: String(to) } : {};
    return { metrics: all.slice(from, to).map(written), ...next };
  }

  private run({ run_id }: Record<string, unknown>): FakeRun {
    const run = this.runs.find(({ id }) => id === run_id);
    if (run === undefined) throw new ApiError(404, 'RESOURCE_DOES_NOT_EXIST', `no run ${String(run_id)}`);
    return run;
  }
}

function invalid(message: string): ApiError {
  return new ApiError(400, 'INVALID_PARAMETER_VALUE', message);
}

function view({ id, name, status, tags, params, metrics }: FakeRun): object {
  const latest = new Map<string, Metric>();
  for (const metric of metrics) {
    const known = latest.get(metric.key);
    if (known === undefined || metric.step >= known.step) latest.set(metric.key, metric);
  }
  const list = (map: Map<string, string>) => [...map].map(([key, value]) => ({ key, value }));
  return {
    info: { run_id: id, run_name: name, status },
    data: { metrics: [...latest.values()].map(written), params: list(params), tags: list(tags) },
  };
}

/** Protobuf as JSON: a step of 0 is omitted, 64-bit numbers are strings in some versions. */
function written({ key, value, timestamp, step }: Metric): object {
  const shown = Number.isFinite(value) ? value : String(value);
  return { key, value: shown, timestamp: String(timestamp), ...(step === 0 ? {} : { step: String(step) }) };
}
