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

/**
 * JetStream error codes of temporary conditions: leader elections, cluster servers that are not up yet, a full store,
 * a stream that is being recreated.
 */
const TRANSIENT_API_CODES = new Set([10005, 10008, 10009, 10014, 10023, 10028, 10047, 10059, 10077, 10118]);

/** The client is closed for good: retries cannot succeed. */
export function isClosed(error: unknown): boolean {
  return error instanceof ClosedConnectionError || error instanceof DrainingConnectionError;
}

/** Whether the same operation may succeed later without intervention. */
export function isTransient(error: unknown): boolean {
  if (error instanceof JetStreamApiError) return TRANSIENT_API_CODES.has(error.code) || error.status === 503;
  if (error instanceof RequestError || error instanceof NoRespondersError) return true;
  if (error instanceof JetStreamError || isUnanswered(error)) return true;
  return error instanceof TimeoutError || error instanceof ConnectionError;
}

/**
 * Whether the JetStream API does not answer: streams have not been created, are out of reach behind a leaf node, or
 * JetStream is disabled.
 */
export function isUnanswered(error: unknown): boolean {
  // The client does not export the class.
  return error instanceof Error && error.name === 'JetStreamNotEnabled';
}

export interface RetryContext {
  closing: AbortSignal;
  logger: Logger;
  /** Recreates streams and buckets that a broker lost with its store. */
  repair(): Promise<void>;
}

/**
 * Runs an operation until it succeeds, as long as its failures are temporary (broker unavailable or restarting, store
 * lost or full). Only for idempotent operations. Throws `BusError` `closed` when the bus closes, or when the given
 * signal aborts.
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
