import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Reply, SamplerOrders, SamplerReport } from '@ui-rl/contracts';
import type {
  Sampler,
  SamplerContext,
  SamplerProcesses,
  SamplerRequest,
  SampleResult,
} from '@ui-rl/plugin-kit';
import { DEADLINES, RETRIES, retry, sleep, waitAtMost } from '@ui-rl/retry';
import { ProcessFailure, SamplingError } from './errors';
import type { ExternalSamplerOptions } from './options';
import { Processes, type SamplerProcess } from './processes';
import { scoreFault } from './scores';

/** Delay of the reply to a report without news for its process, in milliseconds. */
const HOLD_MS = 1_000;
/** Delay and interval of warnings from a run that waits for samplers, in milliseconds. */
const PATIENT_MS = 3_000;
const WARN_EVERY_MS = 30_000;
/** Time limit for a process that has requested the model to load it. */
const LOADING_MS = 600_000;
const MS_PER_MINUTE = 60_000;
/** Codes of processes that are unreachable or shutting down: they get no requests until they report again. */
const GONE = new Set(['no_responders', 'disconnected', 'closed', 'stopping']);
/** Codes that every other process would return, too. */
const FINAL = new Set(['bad_request', 'too_large']);

/** Weights under a name of the engine, while they may be requested. */
interface Version {
  weights: string;
  digest: string;
  isBase: boolean;
  /** Number of requests that sample with it. */
  users: number;
  retired: boolean;
}

type Orders = Pick<SamplerOrders, 'wanted' | 'probes' | 'refused'>;

export interface ExternalContext extends SamplerContext {
  processes: SamplerProcesses;
  /** The engine's log-probabilities of the probes under the model without adapter. */
  baseScores: readonly number[];
}

/**
 * Samples from processes of the `sampler` service. They report their identity and weights, and receive the weights to
 * load; each request goes to a process with its weights. A process that stops reporting is dropped, and its requests
 * go to another one.
 */
export class ExternalSampler implements Sampler {
  private readonly processes: Processes;
  private readonly versions = new Map<string, Version>();
  /** Published, being published, or still in use. */
  private readonly living = new Set<Version>();
  private wantedChange = new AbortController();
  private readonly stopping = new AbortController();
  private readonly faults = new Map<string, string | undefined>();
  private exported = 0;
  private warnAt = -Infinity;
  /** Processes that have requested the model and are not ready, by instance. */
  private readonly loading = new Map<string, { host: string; at: number }>();
  /** Serializes writes to the object store. */
  private storing: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly options: ExternalSamplerOptions,
    private readonly context: ExternalContext,
  ) {
    this.processes = new Processes((process) => {
      const { message } = process.lost.reason as Error;
      context.log('warn', `${message}; what it was asked is asked of others`);
    });
    context.processes.answer((report) => this.report(report));
  }

  async publish(weights: string): Promise<void> {
    const version = await this.export(weights);
    this.living.add(version);
    this.tellWanted();
    try {
      await this.untilHeld(version);
    } catch (error) {
      await this.leave(version);
      throw error;
    }
    const before = this.versions.get(weights);
    this.versions.set(weights, version);
    if (before !== undefined) await this.retireVersion(before);
  }

  async sample(request: SamplerRequest): Promise<SampleResult> {
    const version = this.versions.get(request.model);
    if (version === undefined)
      throw new SamplingError('request', `there are no published weights "${request.model}"`);
    version.users += 1;
    try {
      return await this.answer(request, version);
    } finally {
      version.users -= 1;
      if (version.retired && version.users === 0) await this.leave(version);
    }
  }

  async move(from: string, to: string): Promise<void> {
    const [old, next] = [from, to].map((weights) => this.versions.get(weights));
    if (old === undefined || next === undefined || old.digest === next.digest) return;
    const weights = { from: old.digest, to: next.digest };
    const able = this.processes.all.filter(({ holds }) => holds.has(weights.from) && holds.has(weights.to));
    await Promise.all(
      able.map(async (process) => {
        const reply = await this.context.processes.move(process.instance, weights);
        // Samples that were not moved complete with their original weights.
        if (!reply.ok) this.context.log('warn', `${process.name} could not move: ${reply.error.message}`);
      }),
    );
  }

  async retire(weights: string): Promise<void> {
    const version = this.versions.get(weights);
    if (version === undefined) return;
    this.versions.delete(weights);
    await this.retireVersion(version);
    await this.context.engine.releaseWeights(weights);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.processes.stop();
    this.tellWanted();
    await this.context.processes.stop();
    const stored = new Set([...this.living].filter(({ isBase }) => !isBase).map(({ digest }) => digest));
    this.living.clear();
    const removed = Promise.all([...stored].map((digest) => this.removeStored(digest)));
    // The broker may be unavailable.
    await waitAtMost(DEADLINES.stopRun.ms, removed);
  }

  /** The reply to a report: immediate if there is news for the process, else delayed, to limit the polling rate. */
  private async report(report: SamplerReport): Promise<Orders> {
    if (report.scores === undefined) {
      this.loading.set(report.instance, { host: report.host, at: performance.now() });
      return { wanted: [], probes: this.context.probes().map((tokens) => [...tokens]) };
    }
    this.loading.delete(report.instance);
    const fault = this.faultOf(report.instance, report.scores);
    if (fault !== undefined) {
      this.context.log('error', `sampler ${report.instance} on ${report.host} is not asked: ${fault}`);
      return { wanted: [], refused: fault };
    }
    if (this.processes.note(report)) {
      const { instance, host, device, rows } = report;
      this.context.log('info', `sampler ${instance} on ${host} samples, ${rows} at a time on ${device}`);
    }
    if (this.isSettled(report)) {
      await sleep(HOLD_MS, AbortSignal.any([this.wantedChange.signal, this.stopping.signal]));
      this.processes.touch(report.instance);
    }
    return { wanted: this.wanted };
  }

  private get wanted(): SamplerOrders['wanted'] {
    return [...new Map([...this.living].map(({ digest, isBase }) => [digest, { digest, isBase }])).values()];
  }

  private isSettled({ holds, failed }: SamplerReport): boolean {
    const wanted = new Set(this.wanted.map(({ digest }) => digest));
    const known = new Set([...holds, ...failed.map(({ digest }) => digest)]);
    return holds.every((digest) => wanted.has(digest)) && [...wanted].every((digest) => known.has(digest));
  }

  private tellWanted(): void {
    const before = this.wantedChange;
    this.wantedChange = new AbortController();
    before.abort();
  }

  private faultOf(instance: string, scores: readonly number[]): string | undefined {
    const { baseScores, deterministic = false } = this.context;
    if (!this.faults.has(instance)) {
      const tolerance = deterministic ? 0 : this.options.probe_tolerance;
      this.faults.set(instance, scoreFault(scores, baseScores, tolerance));
    }
    return this.faults.get(instance);
  }

  /** Stores weights where processes find them. */
  private async export(weights: string): Promise<Version> {
    const { engine, sharedDir, runId, processes } = this.context;
    this.exported += 1;
    const dir = join(sharedDir, `.${runId}-${process.pid}-${this.exported}`);
    try {
      const { digest, isBase } = await engine.exportWeights({ name: weights, dir });
      if (!isBase) await this.inTurn(() => processes.store(digest, dir));
      return { weights, digest, isBase, users: 0, retired: false };
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.storing.then(work);
    this.storing = result.catch(() => undefined);
    return result;
  }

  /** Waits until every available process has the weights; slow ones follow later. */
  private async untilHeld({ digest }: Version): Promise<void> {
    const began = performance.now();
    await this.until(() => {
      const live = this.processes.all;
      const isHeld = live.some(({ holds }) => holds.has(digest));
      const isAwaited = live.some(({ holds, failed }) => !holds.has(digest) && !failed.has(digest));
      return isHeld && (!isAwaited || performance.now() - began > DEADLINES.samplerWeights.ms)
        ? true
        : undefined;
    }, digest);
  }

  /** The first result of `found`, which is called again whenever the processes change. */
  private async until<T>(found: () => T | undefined, digest: string, signal?: AbortSignal): Promise<T> {
    const { over } = this.context.processes;
    const ends = AbortSignal.any([over, this.stopping.signal, ...(signal === undefined ? [] : [signal])]);
    const began = performance.now();
    const end = began + this.options.wait_minutes * MS_PER_MINUTE;
    for (;;) {
      const { change } = this.processes;
      const result = found();
      if (result !== undefined) return result;
      if (ends.aborted) throw new Error('the run no longer waits for samplers');
      const now = performance.now();
      if (now > end)
        throw new SamplingError(
          'samplers',
          `${this.missing(digest)}, for ${this.options.wait_minutes} minutes (sampler.wait_minutes)`,
        );
      if (now - began > PATIENT_MS) this.warnOfMissing(digest);
      await sleep(HOLD_MS, AbortSignal.any([change, ends]));
    }
  }

  /** Warns at an interval, however many requests wait. */
  private warnOfMissing(digest: string): void {
    const now = performance.now();
    if (now < this.warnAt) return;
    this.warnAt = now + WARN_EVERY_MS;
    this.context.processes.warn(this.missing(digest));
  }

  private missing(digest: string): string {
    const states = this.processes.all.map(
      (process) => `${process.name} ${process.failed.get(digest) ?? 'is loading it'}`,
    );
    if (states.length > 0)
      return `the run waits for a sampler that has the weights ${digest.slice(0, 12)} (${states.join('; ')})`;
    const since = performance.now() - LOADING_MS;
    const loading = [...this.loading.values()].filter(({ at }) => at > since).map(({ host }) => host);
    return loading.length > 0
      ? `the run waits for a sampler: the model is being loaded on ${loading.join(', ')}`
      : 'the run waits for a sampler, and there is none: start one with npx ui-rl up --samplers 1';
  }

  private answer(request: SamplerRequest, version: Version): Promise<SampleResult> {
    const avoided = new Set<string>();
    const attempt = async (): Promise<SampleResult> => {
      const { signal, episode } = request;
      signal?.throwIfAborted();
      const pick = (): SamplerProcess | undefined => this.processes.pick(version.digest, episode, avoided);
      const process = await this.until(pick, version.digest, signal).catch((error: unknown) => {
        signal?.throwIfAborted();
        throw error;
      });
      try {
        return await this.ask(process, request, version);
      } catch (error) {
        avoided.add(process.instance);
        throw error;
      }
    };
    return retry(RETRIES.sampler, attempt, {
      signal: AbortSignal.any([
        this.stopping.signal,
        ...(request.signal === undefined ? [] : [request.signal]),
      ]),
      isTransient: (error) => error instanceof ProcessFailure,
      onFailure: (error) =>
        this.context.log('debug', `asked of another sampler: ${(error as Error).message}`),
    });
  }

  private async ask(
    process: SamplerProcess,
    request: SamplerRequest,
    version: Version,
  ): Promise<SampleResult> {
    const { processes } = this.context;
    const { signal, episode: _episode, conversation: _conversation, ...rest } = request;
    const { onBegin: _onBegin, onToken: _onToken, ...asked } = rest;
    const id = randomUUID();
    const ends = AbortSignal.any([process.lost, ...(signal === undefined ? [] : [signal])]);
    process.inFlight += 1;
    process.taken += 1;
    try {
      const sent = processes.sample(
        process.instance,
        id,
        { ...asked, model: version.digest },
        this.options.request_timeout_ms,
      );
      const reply = await untilEnded(sent, ends);
      if (reply === undefined || (!reply.ok && reply.error.code === 'timeout'))
        processes.cancel(process.instance, id);
      signal?.throwIfAborted();
      if (reply === undefined) throw new ProcessFailure('gone', (process.lost.reason as Error).message);
      return this.read(process, reply, request, version);
    } finally {
      process.inFlight -= 1;
    }
  }

  private read(
    process: SamplerProcess,
    reply: Reply<SampleResult>,
    { maxTokens, movable = false }: SamplerRequest,
    { digest }: Version,
  ): SampleResult {
    if (!reply.ok) {
      const { code, message } = reply.error;
      if (FINAL.has(code)) throw new SamplingError('request', message);
      if (GONE.has(code)) this.processes.lose(process, `cannot be reached: ${message}`);
      if (code === 'unknown_weights')
        process.holds = new Set([...process.holds].filter((each) => each !== digest));
      throw new ProcessFailure(code, `${process.name}: ${message}`);
    }
    const { tokens } = reply.value;
    const isWhole = tokens.length > 0 && tokens.length <= maxTokens;
    if (isWhole && (movable || reply.value.digest === digest)) return reply.value;
    throw new ProcessFailure(
      'bad_reply',
      `${process.name} answered ${tokens.length} tokens of the weights ${reply.value.digest}; expected 1 to ${maxTokens} of ${digest}`,
    );
  }

  private async retireVersion(version: Version): Promise<void> {
    version.retired = true;
    if (version.users === 0) await this.leave(version);
  }

  /** Releases weights that are no longer requested. */
  private async leave(version: Version): Promise<void> {
    if (!this.living.delete(version)) return;
    this.tellWanted();
    if (!version.isBase) await this.removeStored(version.digest);
  }

  /** If this fails, an adapter remains until the run resumes or is deleted. */
  private async removeStored(digest: string): Promise<void> {
    const remove = async (): Promise<void> => {
      if ([...this.living].some((other) => other.digest === digest)) return;
      await this.context.processes.remove(digest);
    };
    await this.inTurn(remove).catch((error: unknown) =>
      this.context.log('debug', `the adapter ${digest} was not removed: ${(error as Error).message}`),
    );
  }
}

/** The promise's result; undefined if the signal aborts first. */
async function untilEnded<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const done = new AbortController();
  const ended = new Promise<undefined>((resolve) => {
    const end = (): void => resolve(undefined);
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true, signal: done.signal });
  });
  try {
    return await Promise.race([promise, ended]);
  } finally {
    done.abort();
  }
}
