import { HttpException, Logger } from '@nestjs/common';

/** OpenAI's names for what went wrong. */
export type ApiErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'rate_limit_error'
  | 'server_error'
  | 'service_unavailable_error';

const TYPES: Readonly<Record<number, ApiErrorType>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  500: 'server_error',
  503: 'service_unavailable_error',
};

/** What a caller is told, in OpenAI's form. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** Machine-readable: `model_not_found`, `invalid_api_key`, `unsupported_parameter` … */
    readonly code: string | null = null,
    /** The field of the request that is wrong: `messages[0].content`. */
    readonly param: string | null = null,
  ) {
    super(message);
    this.name = 'ApiError';
  }

  get type(): ApiErrorType {
    return TYPES[this.status] ?? 'invalid_request_error';
  }

  /** `{error: {message, type, param, code}}`. */
  get body(): { error: { message: string; type: ApiErrorType; param: string | null; code: string | null } } {
    const { message, type, param, code } = this;
    return { error: { message, type, param, code } };
  }
}

/** A field that is wrong. */
export function invalid(param: string, message: string, code = 'invalid_value'): ApiError {
  return new ApiError(400, `${param}: ${message}`, code, param);
}

/** What OpenAI's API has and this one has not. */
export function unsupported(param: string, message: string): ApiError {
  return invalid(param, message, 'unsupported_parameter');
}

/** @throws ApiError where nobody waits for the answer any more */
export function assertCaller({ aborted }: AbortSignal): void {
  if (aborted) throw new ApiError(499, 'the caller is gone', 'cancelled');
}

const logger = new Logger('openai');

/** What a caller is told of an error: of one that is not theirs nothing but that there was one. */
export function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const [status, message] = statusOf(error);
  if (status < 500) return new ApiError(status, message, status === 413 ? 'request_too_large' : null);
  return new ApiError(
    500,
    'the request failed by no fault of the caller; the log of the server says why',
    'internal_error',
  );
}

/** The same; the log has what the caller is not told. */
export function toApiError(error: unknown): ApiError {
  const told = apiErrorOf(error);
  if (told.code === 'internal_error')
    logger.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return told;
}

/** Errors of Nest and of the body's parser know their status, and may be told; those of servers that the policy asks have one of theirs. */
function statusOf(error: unknown): [number, string] {
  if (error instanceof HttpException) return [error.getStatus(), error.message];
  if (!(error instanceof Error)) return [500, ''];
  const { expose, status } = error as { expose?: unknown; status?: unknown };
  return [expose === true && typeof status === 'number' ? status : 500, error.message];
}
