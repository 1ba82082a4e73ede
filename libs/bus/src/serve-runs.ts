import type { BusService } from './bus';
import { describeError } from './errors';
import { sleep, waitAtMost } from './retry';
import type { RunSnapshot } from './runs';

export interface ServeRunsOptions {
  /** Only this run. */
  runId?: string;
  /** Ends the waiting for runs; `serve` gets one that aborts with it. */
  signal: AbortSignal;
  /** Pause before a run whose serving failed is tried again. Default 5,000. */
  retryMs?: number;
  /** Ends when the run needs nothing more from this service, or the signal aborts. */
  serve(run: RunSnapshot, signal: AbortSignal): Promise<void>;
}

/** Requests in flight may wait for a broker that is away; closing the bus ends that. */
const STOP_TIMEOUT_MS = 5_000;

/**
 * Serves every run that has not ended, several at the same time, and each new one, until the signal aborts. What
 * `serve` throws is logged and published as a warning of the run, and the run is tried again.
 */
export async function serveRuns(bus: BusService, options: ServeRunsOptions): Promise<void> {
  const { runId, signal } = options;
  const served = new Set<Promise<void>>();
  bus.logger.log(runId === undefined ? 'waiting for a run' : `waiting for run ${runId}`);
  for await (const run of bus.runs.watchOpen(runId, signal)) {
    bus.logger.log(`picked up run ${run.record.runId}, phase ${run.state.phase}`);
    const serving = serveUntilDone(bus, run, options).finally(() => served.delete(serving));
    served.add(serving);
  }
  await waitAtMost(STOP_TIMEOUT_MS, Promise.all(served));
}

async function serveUntilDone(bus: BusService, run: RunSnapshot, options: ServeRunsOptions): Promise<void> {
  const { runId } = run.record;
  const { signal } = options;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await options.serve(run, signal);
    } catch (error) {
      if (signal.aborted || bus.closing.aborted) return;
      const message = `serving run ${runId} failed, trying again: ${describeError(error)}`;
      bus.logger.error(message, error instanceof Error ? error.stack : undefined);
      if (attempt === 1) {
        const warning = { type: 'warning' as const, runId, service: bus.service, code: 'failure', message };
        void bus.event(warning, `${bus.service}.failure.${bus.instance}`).catch(() => undefined);
      }
    }
    await sleep(options.retryMs ?? 5_000, signal);
    if (signal.aborted) return;
  }
}
