import { Logger } from '@nestjs/common';
import { JetStreamApiError, JetStreamError } from '@nats-io/jetstream';
import {
  ClosedConnectionError,
  ConnectionError,
  DrainingConnectionError,
  NoRespondersError,
  RequestError,
  TimeoutError,
} from '@nats-io/transport-node';
import { BusError, describeError } from './errors';

/** JetStream error codes that pass: leader elections, a full store, a stream that is being recreated. */
const TRANSIENT_API_CODES = new Set([10008, 10009, 10014, 10023, 10028, 10047, 10059, 10077, 10118]);

export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}

/** Waits for the promise, at most so long; leaves no timer behind. */
export async function waitAtMost(ms: number, promise: Promise<unknown>): Promise<void> {
  const done = new AbortController();
  await Promise.race([promise, sleep(ms, done.signal)]);
  done.abort();
}

/** The client is closed for good: nothing can be tried again. */
export function isClosed(error: unknown): boolean {
  return error instanceof ClosedConnectionError || error instanceof DrainingConnectionError;
}

/** Whether the same operation can succeed later without anybody changing it. */
export function isTransient(error: unknown): boolean {
  if (error instanceof JetStreamApiError) return TRANSIENT_API_CODES.has(error.code) || error.status === 503;
  if (error instanceof RequestError || error instanceof NoRespondersError) return true;
  if (error instanceof JetStreamError) return true;
  return error instanceof TimeoutError || error instanceof ConnectionError;
}

export interface RetryContext {
  closing: AbortSignal;
  logger: Logger;
  /** Recreates what a broker with a lost store no longer has. */
  repair(): Promise<void>;
}

const REPORT_EVERY_MS = 5_000;
const MAX_PAUSE_MS = 2_000;

/**
 * Runs an operation until it succeeds, as long as its failures are of the kind that passes (broker away, restarting,
 * store lost or full). Only for operations that may run twice. Ends with `BusError` `closed` when the bus closes.
 */
export async function withRetry<T>(
  what: string,
  context: RetryContext,
  operation: () => Promise<T>,
): Promise<T> {
  let reportedAt = -Infinity;
  for (let attempt = 0; ; attempt += 1) {
    if (context.closing.aborted) throw new BusError('closed', `the bus was closed before it could ${what}`);
    try {
      return await operation();
    } catch (error) {
      if (isClosed(error))
        throw new BusError('closed', `the bus was closed while it tried to ${what}`, { cause: error });
      if (!isTransient(error)) throw error;
      if (Date.now() - reportedAt >= REPORT_EVERY_MS && attempt > 0) {
        context.logger.warn(`cannot ${what} (attempt ${attempt + 1}), trying again: ${describeError(error)}`);
        reportedAt = Date.now();
      }
      await context.repair().catch(() => undefined);
    }
    await sleep(Math.min(100 * 2 ** attempt, MAX_PAUSE_MS), context.closing);
  }
}
