import { EngineError, type EngineErrorCategory } from './errors';

/** One call to the device worker. */
export interface CallMessage {
  id: number;
  method: string;
  argument: unknown;
}

export interface FailureMessage {
  name: string;
  category?: string;
  message: string;
  stack?: string;
  cause?: FailureMessage;
}

/** The progress of long work, for people. */
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

/** The error as the caller sees it; what was no EngineError in the worker becomes one of category `worker`. */
export function fromFailure(failure: FailureMessage): EngineError {
  const own = failure.name === 'EngineError' && CATEGORIES.includes(failure.category ?? '');
  const category = own ? (failure.category as EngineErrorCategory) : 'worker';
  const message = own ? failure.message : `${failure.name}: ${failure.message}`;
  const error = new EngineError(category, message, causeOf(failure));
  if (failure.stack !== undefined) error.stack = failure.stack;
  return error;
}

/** Causes are for logs: errors with the name, message and stack they had. */
function causeOf({ cause }: FailureMessage): { cause: Error } | undefined {
  if (cause === undefined) return undefined;
  const { name, message, stack } = cause;
  return { cause: Object.assign(new Error(message, causeOf(cause)), { name, stack }) };
}
