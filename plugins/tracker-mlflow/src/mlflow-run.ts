import {
  RETRIES,
  retry,
  type Log,
  type RetryPolicy,
  type TrackedEvaluation,
  type TrackedStep,
  type Tracker,
} from '@ui-rl/plugin-kit';
import { acceptedName } from './names';
import { batchOf, RUN_TAG, type Point, type RunStore, type StoredRun } from './run-store';
import { ServerError } from './server';

export interface MlflowRunOptions {
  runId: string;
  experiment: string;
  name: string;
  params: Readonly<Record<string, string>>;
  log: Log;
}

/** Maximum points queued while the server is unreachable; the oldest are dropped. */
const MAX_WAITING = 200_000;
/** Status codes for values that a server will never accept. */
const REFUSALS = [400, 413, 422];
/** How long closing a run may take to send queued points. */
const CLOSE_MS = 6_000;

/**
 * A run on an MLflow server. Records are queued and sent batch by batch, so that a slow server does not delay
 * training. A server appends all that it receives, and a reply may be lost: after that, the run reads the stored
 * points before it sends again.
 */
export class MlflowRun implements Tracker {
  private id: string | undefined;
  /** The step from which the run resumes. */
  private from = Infinity;
  /** Queued points by step and metric. */
  private readonly waiting = new Map<string, Point>();
  /** Largest recorded step by metric; for evaluations, which arrive in any order, all steps. */
  private readonly latest = new Map<string, number>();
  private readonly evaluated = new Set<string>();
  /** Metric by stored name. */
  private readonly metrics = new Map<string, string>();
  /** Metrics that the server refused, or whose stored name is taken. */
  private readonly leftOut = new Set<string>();
  /** Values per request, halved after each refusal until the refused value is alone. */
  private maxBatch = Infinity;
  /** Whether the outcome of a request is unknown. */
  private isUnsure = false;
  private sending: Promise<void> | undefined;
  private readonly closing = new AbortController();

  constructor(
    private readonly store: RunStore,
    private readonly options: MlflowRunOptions,
    private readonly retries: RetryPolicy = RETRIES.trackerServer,
  ) {}

  resume(step: number): Promise<void> {
    this.from = step;
    this.sendSoon();
    return Promise.resolve();
  }

  step({ step, at, metrics }: TrackedStep): Promise<void> {
    return this.add(step, at, metrics);
  }

  evaluation({ step, at, metrics }: TrackedEvaluation): Promise<void> {
    return this.add(step, at, metrics);
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.sending;
    await retry({ ...this.retries, maxMs: 1_000, withinMs: CLOSE_MS }, () => this.finish(), { isTransient });
  }

  private async finish(): Promise<void> {
    await this.sendAll();
    await this.store.setStatus(this.id!, 'FINISHED');
  }

  private add(step: number, at: string, metrics: Readonly<Record<string, number>>): Promise<void> {
    const timestamp = Date.parse(at);
    for (const [metric, value] of Object.entries(metrics)) {
      const point = { key: this.nameOf(metric), value, timestamp, step };
      if (!this.leftOut.has(metric) && !this.isRecorded(point)) this.waiting.set(keyOf(point), point);
    }
    for (const oldest of this.waiting.keys()) {
      if (this.waiting.size <= MAX_WAITING) break;
      this.waiting.delete(oldest);
    }
    this.sendSoon();
    return Promise.resolve();
  }

  private nameOf(metric: string): string {
    const name = acceptedName(metric);
    const known = this.metrics.get(name);
    if (known === metric) return name;
    if (known !== undefined) {
      this.leaveOut(metric, `"${known}" is stored as "${name}" already`);
    } else {
      this.metrics.set(name, metric);
      if (name !== metric)
        this.options.log('warn', `metric "${metric}" is stored as "${name}", a name that MLflow accepts`);
    }
    return name;
  }

  private leaveOut(metric: string, why: string): void {
    if (this.leftOut.has(metric)) return;
    this.leftOut.add(metric);
    this.options.log('warn', `metric "${metric}" is left out: ${why}`);
  }

  private sendSoon(): void {
    this.sending ??= this.sendInBackground().finally(() => (this.sending = undefined));
  }

  private async sendInBackground(): Promise<void> {
    const { log } = this.options;
    const tellOnce = (error: unknown, failures: number): void => {
      if (failures === 1) log('warn', `${String(error)}: tried again until it succeeds or the run ends`);
    };
    const { signal } = this.closing;
    try {
      await retry(this.retries, () => this.sendAll(), { signal, isTransient, onFailure: tellOnce });
    } catch (error) {
      log('error', `${String(error)}: ${this.waiting.size} values wait for the next step`);
    }
  }

  private async sendAll(): Promise<void> {
    this.id ??= await this.attach();
    while (this.waiting.size > 0) {
      if (this.isUnsure) await this.refresh(this.id);
      this.drop([...this.waiting.values()].filter((point) => this.isRecorded(point)));
      const batch = batchOf([...this.waiting.values()]).slice(0, this.maxBatch);
      if (batch.length > 0) await this.send(this.id, batch);
    }
  }

  private async send(id: string, batch: readonly Point[]): Promise<void> {
    try {
      await this.store.logMetrics(id, batch);
    } catch (error) {
      this.isUnsure = true;
      if (error instanceof ServerError && REFUSALS.includes(error.status!)) return this.refused(batch, error);
      // Values that the server always refuses must not block the rest.
      if (!isTransient(error)) this.drop(batch);
      throw error;
    }
    this.maxBatch = Infinity;
    this.drop(batch);
    for (const point of batch) this.remember(point);
  }

  /** One invalid value makes the server refuse the whole batch: halve the batches to isolate it. */
  private refused(batch: readonly Point[], { message }: ServerError): void {
    if (batch.length > 1) {
      this.maxBatch = Math.ceil(batch.length / 2);
      return;
    }
    this.maxBatch = Infinity;
    const metric = this.metrics.get(batch[0].key)!;
    this.leaveOut(metric, message);
    this.drop([...this.waiting.values()].filter(({ key }) => key === batch[0].key));
  }

  private drop(batch: readonly Point[]): void {
    for (const point of batch) this.waiting.delete(keyOf(point));
  }

  /** Finds the run, which an earlier process or an unanswered request may have created, or creates it. */
  private async attach(): Promise<string> {
    const { runId, experiment, name } = this.options;
    const experimentId = await this.store.experiment(experiment);
    const found = await this.store.find(experimentId, runId);
    if (found === undefined)
      return this.begin(await this.store.create(experimentId, name, { [RUN_TAG]: runId }));
    if (found.latest.some((point) => point.step > this.from)) return this.moveFrom(found, experimentId);
    await this.store.setStatus(found.id, 'RUNNING');
    await this.refresh(found.id);
    return this.begin(found.id);
  }

  private async begin(id: string): Promise<string> {
    try {
      await this.store.logParams(id, this.options.params);
    } catch (error) {
      // Changed parameters cannot be overwritten.
      if (isTransient(error)) throw error;
      this.options.log('warn', String(error));
    }
    return id;
  }

  /** Reads the stored points from the server. */
  private async refresh(id: string): Promise<void> {
    const { latest } = await this.store.read(id);
    for (const point of latest) {
      const points = isEvaluated(point.key) ? await this.store.history(id, point.key) : [point];
      for (const each of points) this.remember(each);
    }
    this.isUnsure = false;
  }

  /**
   * A server cannot delete points: replaces the run by a copy without the steps after the resumed one. The copy gets
   * its tag only when it is complete.
   */
  private async moveFrom({ id: old, latest }: StoredRun, experimentId: string): Promise<string> {
    const { runId, name } = this.options;
    const points: Point[] = [];
    for (const { key } of latest) {
      const all = await this.store.history(old, key);
      points.push(...all.filter(({ step }) => step <= this.from));
    }
    const id = await this.begin(await this.store.create(experimentId, name, {}));
    for (let rest = points; rest.length > 0;) {
      const batch = batchOf(rest);
      await this.store.logMetrics(id, batch);
      rest = rest.slice(batch.length);
    }
    await this.store.setTag(id, RUN_TAG, runId);
    await this.store.delete(old);
    for (const point of points) this.remember(point);
    return id;
  }

  private remember({ key, step }: Point): void {
    if (isEvaluated(key)) this.evaluated.add(keyOf({ key, step }));
    else this.latest.set(key, Math.max(step, this.latest.get(key) ?? -1));
  }

  private isRecorded({ key, step }: Point): boolean {
    return isEvaluated(key) ? this.evaluated.has(keyOf({ key, step })) : step <= (this.latest.get(key) ?? -1);
  }
}

function keyOf({ step, key }: Pick<Point, 'step' | 'key'>): string {
  return `${step} ${key}`;
}

function isEvaluated(key: string): boolean {
  return key.startsWith('test/');
}

function isTransient(error: unknown): boolean {
  return error instanceof ServerError && error.passes;
}
