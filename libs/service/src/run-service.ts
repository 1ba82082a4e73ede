import { hostname } from 'node:os';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import {
  FINAL_PHASES,
  nullWhereDamaged,
  type BusService,
  type Responder,
  type RunSnapshot,
} from '@ui-rl/bus';
import { ServingRequest, subjects, UnservedReply, type ServingReply } from '@ui-rl/contracts';
import { DEADLINES, describeError, everyFewSeconds, RETRIES, retry, waitAtMost } from '@ui-rl/retry';
import { isMisconfiguration, passes } from './failures';
import { ProcessMeter } from './process-status';
import { RunQueue } from './run-queue';

/** Maximum number of attempts at a run that was never served, for unknown failures. */
const MAX_FIRST_ATTEMPTS = 5;

export interface RunServiceOptions {
  /** Serves only this run; default: every open run. */
  runId?: string;
  /**
   * Serves one run after the other, because they need the same device: a later run waits for the end of the current
   * one, which stays served until the next begins. Default: all concurrently.
   */
  oneAtATime?: boolean;
}

/** A run that a service is ready to work for. */
export interface ServedRun {
  /** Resolves when the run needs nothing more from this service, or the signal aborts. */
  work(signal: AbortSignal): Promise<void>;
  /** Closes the resources of the run. */
  close?(): Promise<void>;
}

/** A run that is being served. */
interface Serving {
  runId: string;
  /** Ends the work for this run, whether or not it is over. */
  end: AbortController;
  ended: Promise<void>;
}

/**
 * Finds open runs and serves each of them, until the service stops:
 *
 *                     open run ─▶ prepare ─▶ service_ready ─▶ work ─▶ close
 *                                    │                                │
 *                                    │                                └── a failure: closed and restarted
 *                                    ├── a temporary failure: retried, with a warning in the run
 *                                    └── a misconfiguration: this host leaves the run to others, and reports it. If there are none and
 *                                        never were, a task-loader fails the run (`decideOnUnservedRuns`)
 */
export abstract class RunService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private readonly served = new Set<Serving>();
  private readonly closings = new Set<Promise<void>>();
  /** By run: announces to other hosts that this one serves it, or is about to. */
  private readonly standing = new Map<string, Responder>();
  private following: Promise<void> = Promise.resolve();
  private readonly meter = new ProcessMeter();

  constructor(
    protected readonly bus: BusService,
    private readonly options: RunServiceOptions,
  ) {}

  /**
   * Reads the run's configuration for this service, and opens the necessary resources; null if the run needs nothing
   * from here any more. The signal aborts the waits.
   */
  protected abstract prepare(run: RunSnapshot, signal: AbortSignal): Promise<ServedRun | null>;

  /** Whether an error of `prepare` needs operator action, at this host or in the run. */
  protected isMisconfiguration(error: unknown): boolean {
    return isMisconfiguration(error);
  }

  /** Whether the error is temporary. An error that is neither this nor a misconfiguration is retried a few times. */
  protected passes(error: unknown): boolean {
    return passes(error);
  }

  onApplicationBootstrap(): void {
    this.following = this.follow();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    this.meter.stop();
    const ended = [...this.served].map((serving) => serving.ended);
    // Pending work may wait for an unavailable broker; closing the bus ends that.
    await waitAtMost(DEADLINES.stopRun.ms, Promise.all([this.following, ...ended]));
    await Promise.all(this.closings);
  }

  private async follow(): Promise<void> {
    const { runId, oneAtATime = false } = this.options;
    this.bus.logger.log(runId === undefined ? 'waiting for a run' : `waiting for run ${runId}`);
    if (oneAtATime) return this.followInTurn();
    for await (const run of this.bus.runs.watchOpen(runId, this.stopping.signal)) {
      if (this.stopping.signal.aborted) return;
      this.begin(run);
    }
  }

  /** Serves the oldest run first, even if this process starts after both. */
  private async followInTurn(): Promise<void> {
    const { signal } = this.stopping;
    const queue = new RunQueue();
    const arriving = this.queueUp(queue);
    for (let run = await queue.next(signal); run !== undefined; run = await queue.next(signal)) {
      const comesUp = await this.comesUp(run);
      if (signal.aborted) break;
      if (comesUp) this.begin(run);
      else await this.stepBack(run.record.runId);
      for (const waiting of queue.runIds) await this.warnWaiting(waiting);
    }
    await arriving;
  }

  private async queueUp(queue: RunQueue): Promise<void> {
    const { runs } = this.bus;
    const early = new Set<string>();
    const add = async (run: RunSnapshot): Promise<void> => {
      const { runId } = run.record;
      this.standBy(runId);
      queue.add(run);
      await this.warnWaiting(runId);
    };
    for (const run of await this.openRuns()) {
      early.add(run.record.runId);
      await add(run);
    }
    for await (const run of runs.watchOpen(this.options.runId, this.stopping.signal)) {
      if (!early.delete(run.record.runId)) await add(run);
    }
  }

  /** Open runs, oldest first. */
  private async openRuns(): Promise<RunSnapshot[]> {
    const { runs } = this.bus;
    const { runId: only } = this.options;
    const open: RunSnapshot[] = [];
    for (const [runId, state] of await runs.states()) {
      if (FINAL_PHASES.includes(state.phase) || (only !== undefined && only !== runId)) continue;
      const record = await runs.record(runId).catch(nullWhereDamaged);
      if (record !== null) open.push({ record, state });
    }
    return open.sort((a, b) => a.record.createdAt.localeCompare(b.record.createdAt));
  }

  /**
   * Waits for the previously served run, and stops serving it. Returns whether the new one still has to be served.
   */
  private async comesUp({ record }: RunSnapshot): Promise<boolean> {
    const [before] = this.served;
    // A run whose end the broker lost is delivered again and would wait for itself.
    if (before !== undefined && before.runId !== record.runId) {
      const waited = new AbortController();
      const signal = AbortSignal.any([this.stopping.signal, waited.signal]);
      await Promise.race([this.bus.runs.untilOver(before.runId, signal), before.ended]);
      waited.abort();
    }
    if (await this.isOver(record.runId)) return false;
    before?.end.abort();
    await before?.ended;
    return true;
  }

  private async isOver(runId: string): Promise<boolean> {
    const state = await this.bus.runs.state(runId);
    return state === null || FINAL_PHASES.includes(state.phase);
  }

  /** Warns a waiting run about what it waits for. */
  private async warnWaiting(runId: string): Promise<void> {
    const [before] = this.served;
    if (before === undefined || before.runId === runId || (await this.isOver(before.runId))) return;
    const { service } = this.bus;
    const message = `the ${service} serves one run at a time: this one waits for the end of run ${before.runId}`;
    this.bus.logger.warn(`run ${runId}: ${message}`);
    await this.bus.event(
      { type: 'warning', runId, service, code: 'waiting', message },
      `${service}.waiting.${before.runId}`,
    );
  }

  private begin(run: RunSnapshot): void {
    const { runId } = run.record;
    this.bus.logger.log(`picked up run ${runId}, phase ${run.state.phase}`);
    this.standBy(runId);
    const end = new AbortController();
    const signal = AbortSignal.any([this.stopping.signal, end.signal]);
    const before = this.servingOf(runId);
    before?.end.abort();
    const ended = (before?.ended ?? Promise.resolve()).then(() => this.serveUntilDone(run, signal));
    const serving: Serving = { runId, end, ended };
    this.served.add(serving);
    void serving.ended.finally(() => {
      this.served.delete(serving);
      if (this.servingOf(runId) === undefined) void this.stepBack(runId);
    });
  }

  private servingOf(runId: string): Serving | undefined {
    return [...this.served].find((serving) => serving.runId === runId);
  }

  /** Answers requests about which host of this service serves a run. */
  private standBy(runId: string): void {
    if (this.standing.has(runId)) return;
    const { service, instance } = this.bus;
    const responder = this.bus.respond<ServingRequest>({
      subject: subjects.serving(service, runId),
      schema: ServingRequest,
      handle: async ({ withProcess = false }): Promise<ServingReply> => ({
        instance,
        ...(withProcess ? { process: this.meter.read() } : {}),
      }),
    });
    this.standing.set(runId, responder);
  }

  private async stepBack(runId: string): Promise<void> {
    const responder = this.standing.get(runId);
    this.standing.delete(runId);
    await responder?.stop();
  }

  private async serveUntilDone(run: RunSnapshot, signal: AbortSignal): Promise<void> {
    const { runId } = run.record;
    let attempts = 0;
    let warned: string | undefined;
    const serve = (): Promise<void> => {
      attempts += 1;
      return this.serve(run, signal, attempts);
    };
    await retry(RETRIES.serveRun, serve, {
      signal,
      isTransient: () => !this.bus.closing.aborted,
      onFailure: async (error) => {
        if (await this.isOver(runId)) throw new Error(`run ${runId} is over`, { cause: error });
        const message = `serving run ${runId} failed, trying again: ${describeError(error)}`;
        this.bus.logger.error(message, error instanceof Error ? error.stack : undefined);
        if (message !== warned) this.warnFailure(runId, message, attempts);
        warned = message;
      },
    }).catch((error: unknown) => {
      // Ended by the signal, or with the run: the interrupted work has failed.
      this.bus.logger.debug(`serving run ${runId} ended: ${describeError(error)}`);
    });
  }

  private warnFailure(runId: string, message: string, attempt: number): void {
    const { service, instance } = this.bus;
    const warning = { type: 'warning' as const, runId, service, code: 'failure', message };
    void this.bus.event(warning, `${service}.failure.${instance}.${attempt}`).catch(() => undefined);
  }

  private async serve(run: RunSnapshot, signal: AbortSignal, attempt: number): Promise<void> {
    const ready = await this.ready(run, signal, attempt);
    if (ready === null) return;
    try {
      const { service, instance } = this.bus;
      const { runId } = run.record;
      await this.bus.event({ type: 'service_ready', runId, service, instance }, `${service}.${instance}`);
      await ready.work(signal);
    } finally {
      await this.close(ready);
    }
  }

  private async close(run: ServedRun): Promise<void> {
    const closing = run.close?.() ?? Promise.resolve();
    this.closings.add(closing);
    await closing.finally(() => this.closings.delete(closing));
  }

  private async ready(run: RunSnapshot, signal: AbortSignal, attempt: number): Promise<ServedRun | null> {
    try {
      return await this.prepare(run, signal);
    } catch (error) {
      const isHopeless = attempt >= MAX_FIRST_ATTEMPTS && !this.passes(error);
      if (!this.isMisconfiguration(error) && !isHopeless) throw error;
      if (await this.leaveToOthers(run.record.runId, error, signal)) return null;
      throw error;
    }
  }

  /**
   * Reports that this host cannot serve the run. False if the failure is unknown and the service was once ready for
   * it.
   */
  private async leaveToOthers(runId: string, error: unknown, signal: AbortSignal): Promise<boolean> {
    const reason = describeError(error);
    const isCertain = this.isMisconfiguration(error);
    await this.stepBack(runId);
    if (isCertain) await this.warnMisconfigured(runId, reason);
    const verdict = await this.verdictOn(runId, reason, signal);
    if (isCertain) return true;
    if (verdict === 'served_before') {
      this.standBy(runId);
      return false;
    }
    await this.warnMisconfigured(runId, reason);
    return true;
  }

  private async warnMisconfigured(runId: string, reason: string): Promise<void> {
    const { service, instance, logger } = this.bus;
    const message = `the ${service} on ${hostname()} cannot serve this run: ${reason}`;
    logger.error(`run ${runId}: ${message}`);
    await this.bus.event(
      { type: 'warning', runId, service, code: 'misconfigured', message },
      `${service}.misconfigured.${instance}`,
    );
  }

  /** The task-loader's decision about a run that this host cannot serve; null if the run is over. */
  private async verdictOn(
    runId: string,
    reason: string,
    signal: AbortSignal,
  ): Promise<UnservedReply['verdict'] | null> {
    const { bus } = this;
    const ask = async (): Promise<UnservedReply['verdict'] | null> => {
      if (await this.isOver(runId)) return null;
      const subject = subjects.unserved(bus.service, runId);
      const reply = await bus.request(subject, { reason }, DEADLINES.unserved.ms, UnservedReply);
      if (!reply.ok) throw new Error(reply.error.message);
      return reply.value.verdict;
    };
    return retry(RETRIES.request, ask, {
      signal,
      isTransient: () => !bus.closing.aborted,
      onFailure: everyFewSeconds((error) =>
        bus.logger.warn(`run ${runId} waits for a task-loader to decide on it: ${describeError(error)}`),
      ),
    });
  }
}
