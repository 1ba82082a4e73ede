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
}

/** What a caller may want to read while it waits. */
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
  };
}

const CATEGORIES: readonly string[] = ['request', 'checkpoint', 'worker'] satisfies EngineErrorCategory[];

/** The error as the caller sees it; what was no EngineError in the worker becomes one of category `worker`. */
export function fromFailure(failure: FailureMessage): EngineError {
  const own = failure.name === 'EngineError' && CATEGORIES.includes(failure.category ?? '');
  const category = own ? (failure.category as EngineErrorCategory) : 'worker';
  const error = new EngineError(category, own ? failure.message : `${failure.name}: ${failure.message}`);
  if (failure.stack !== undefined) error.stack = failure.stack;
  return error;
}
