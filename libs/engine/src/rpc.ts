import type { ModelErrorCategory } from '@ui-rl/models';
import { EngineError, type EngineErrorCategory } from './errors';
import type { WorkerMethod } from './worker-api';

/** One call to the device worker. */
export interface CallMessage {
  id: number;
  method: WorkerMethod;
  argument: unknown;
  /** Whether the caller wants progress events. */
  events: boolean;
}

/** An event during a call. */
export interface EventMessage {
  id: number;
  event: unknown;
}

export interface FailureMessage {
  name: string;
  category?: string;
  message: string;
  stack?: string;
  cause?: FailureMessage;
}

/** The progress of a long operation, for users. */
export interface ProgressMessage {
  progress: string;
}

export type ReplyMessage =
  { id: number; ok: true; value: unknown } | { id: number; ok: false; error: FailureMessage };

export function toFailure(error: unknown): FailureMessage {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  const category = (error as { category?: unknown }).category;
  return {
    name: error.name,
    message: error.message,
    stack: error.stack,
    ...(typeof category === 'string' ? { category } : {}),
    ...(error.cause === undefined ? {} : { cause: toFailure(error.cause) }),
  };
}

const CATEGORIES: readonly string[] = ['request', 'checkpoint', 'worker'] satisfies EngineErrorCategory[];

/** Categories of errors in a model's files, which do not depend on the request. */
const OF_FILES: readonly string[] = [
  ...(['missing-file', 'bad-file', 'bad-config', 'unsupported', 'unknown-model'] as const),
] satisfies ModelErrorCategory[];

/**
 * The error as the caller sees it. A worker error that is not an EngineError becomes one: of category `checkpoint` if
 * the model's files are invalid, else `worker`.
 */
export function fromFailure(failure: FailureMessage): EngineError {
  const { name, category, message, stack } = failure;
  const own = name === 'EngineError' && CATEGORIES.includes(category ?? '');
  const foreign = name === 'ModelError' && OF_FILES.includes(category ?? '') ? 'checkpoint' : 'worker';
  const error = own
    ? new EngineError(category as EngineErrorCategory, message, causeOf(failure))
    : new EngineError(foreign, `${name}: ${message}`, causeOf(failure));
  if (stack !== undefined) error.stack = stack;
  return error;
}

/** Causes are for logs: errors with the original name, message and stack. */
function causeOf({ cause }: FailureMessage): { cause: Error } | undefined {
  if (cause === undefined) return undefined;
  const { name, message, stack } = cause;
  return { cause: Object.assign(new Error(message, causeOf(cause)), { name, stack }) };
}
