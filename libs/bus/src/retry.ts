import type { Logger } from '@nestjs/common';
import { JetStreamApiError, JetStreamError } from '@nats-io/jetstream';
import {
  ClosedConnectionError,
  ConnectionError,
  DrainingConnectionError,
  NoRespondersError,
  RequestError,
  TimeoutError,
} from '@nats-io/transport-node';
import { describeError, everyFewSeconds, RETRIES, retry } from '@ui-rl/retry';
import { BusError } from './errors';

/** JetStream error codes that pass: leader elections, servers of a cluster that are not there yet, a full store, a stream that is being recreated. */
const TRANSIENT_API_CODES = new Set([10005, 10008, 10009, 10014, 10023, 10028, 10047, 10059, 10077, 10118]);

/** The client is closed for good: nothing can be tried again. */
export function isClosed(error: unknown): boolean {
  return error instanceof ClosedConnectionError || error instanceof DrainingConnectionError;
}

/** Whether the same operation can succeed later without anybody changing it. */
export function isTransient(error: unknown): boolean {
  if (error instanceof JetStreamApiError) return TRANSIENT_API_CODES.has(error.code) || error.status === 503;
  if (error instanceof RequestError || error instanceof NoRespondersError) return true;
  if (error instanceof JetStreamError || isUnanswered(error)) return true;
  return error instanceof TimeoutError || error instanceof ConnectionError;
}

/** Nobody answers what is asked of streams: they are not made yet, out of reach behind a leaf node, or JetStream is switched off. */
export function isUnanswered(error: unknown): boolean {
  // The client does not export the class.
  return error instanceof Error && error.name === 'JetStreamNotEnabled';
}

export interface RetryContext {
  closing: AbortSignal;
  logger: Logger;
  /** Recreates what a broker with a lost store no longer has. */
  repair(): Promise<void>;
}

/**
 * Runs an operation until it succeeds, as long as its failures are of the kind that passes (broker away, restarting,
 * store lost or full). Only for operations that may run twice. Ends with `BusError` `closed` when the bus closes, or
 * the signal aborts that is given instead.
 */
export async function withRetry<T>(
  what: string,
  context: RetryContext,
  operation: () => Promise<T>,
  signal = context.closing,
): Promise<T> {
  const { logger } = context;
  if (signal.aborted) throw new BusError('closed', `the bus was closed before it could ${what}`);
  const report = everyFewSeconds((error, failures) =>
    logger.warn(`cannot ${what} (attempt ${failures}), trying again: ${describeError(error)}`),
  );
  try {
    return await retry(RETRIES.broker, operation, {
      signal,
      isTransient,
      onFailure: async (error, failures) => {
        report(error, failures);
        await context.repair().catch(() => undefined);
      },
    });
  } catch (error) {
    if (!isClosed(error) && !(signal.aborted && isTransient(error))) throw error;
    throw new BusError('closed', `the bus was closed while it tried to ${what}`, { cause: error });
  }
}
