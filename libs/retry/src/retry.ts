import type { RetryPolicy } from './retries';
import { sleep } from './wait';

export interface RetryOptions<T> {
  /** Ends the retries with the last failure. */
  signal?: AbortSignal;
  /** On the monotonic clock of `performance.now()`: no attempt starts after this time. */
  until?: number;
  /** Whether a later attempt can succeed after this error. Default: after any. */
  isTransient?: (error: unknown) => boolean;
  /** Whether a result is a temporary failure, such as a reply with a code. Default: never. */
  isTransientResult?: (result: T) => boolean;
  /**
   * Called after each failed attempt that is followed by another; `error` is undefined if a result was the failure.
   */
  onFailure?: (error: unknown, failures: number) => unknown;
}

type Outcome<T> = { ok: true; value: T } | { ok: false; error: unknown };

/**
 * Retries an operation according to its policy. Returns its result, or the outcome of the last attempt: its error, or
 * the result that `isTransientResult` classified as a failure. Only for idempotent operations.
 */
export async function retry<T>(
  policy: Pick<RetryPolicy, 'firstMs' | 'maxMs' | 'attempts' | 'withinMs' | 'steadyMs'>,
  operation: () => Promise<T>,
  options: RetryOptions<T> = {},
): Promise<T> {
  const { signal, onFailure, until = Infinity } = options;
  const end = Math.min(until, performance.now() + (policy.withinMs ?? Infinity));
  for (let failures = 1; ; failures += 1) {
    const began = performance.now();
    const outcome = await outcomeOf(operation);
    if (performance.now() - began >= (policy.steadyMs ?? Infinity)) failures = 1;
    const pauseMs = pauseAfter(policy, failures);
    const mayGoOn = failures < (policy.attempts ?? Infinity) && performance.now() + pauseMs < end;
    if (!hasFailed(outcome, options) || !mayGoOn || isAborted(signal)) return resultOf(outcome);
    await onFailure?.(outcome.ok ? undefined : outcome.error, failures);
    await sleep(pauseMs, signal);
    if (isAborted(signal)) return resultOf(outcome);
  }
}

/** The pause after this many consecutive failures, in milliseconds: doubled for each, up to the policy's maximum. */
export function pauseAfter(
  { firstMs, maxMs }: Pick<RetryPolicy, 'firstMs' | 'maxMs'>,
  failures: number,
): number {
  return Math.min(firstMs * 2 ** (failures - 1), maxMs);
}

/** Interval of reports about repeated failures. */
export const REPORT_EVERY_MS = 5_000;

/**
 * For `onFailure`: reports failures from the second consecutive one on (many recover after the first), every few
 * seconds.
 */
export function everyFewSeconds(
  report: (error: unknown, failures: number) => void,
): NonNullable<RetryOptions<unknown>['onFailure']> {
  let reportedAt = -Infinity;
  return (error, failures) => {
    if (failures < 2 || performance.now() - reportedAt < REPORT_EVERY_MS) return;
    reportedAt = performance.now();
    report(error, failures);
  };
}

async function outcomeOf<T>(operation: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await operation() };
  } catch (error) {
    return { ok: false, error };
  }
}

function hasFailed<T>(outcome: Outcome<T>, { isTransient, isTransientResult }: RetryOptions<T>): boolean {
  if (outcome.ok) return isTransientResult?.(outcome.value) ?? false;
  return isTransient?.(outcome.error) ?? true;
}

function resultOf<T>(outcome: Outcome<T>): T {
  if (outcome.ok) return outcome.value;
  throw outcome.error;
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}
