import { HttpException, Logger } from '@nestjs/common';

/** OpenAI's error types. */
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

/** An error for the caller, in OpenAI's form. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** Machine-readable: `model_not_found`, `invalid_api_key`, `unsupported_parameter` … */
    readonly code: string | null = null,
    /** The invalid field of the request: `messages[0].content`. */
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

/** An invalid field. */
export function invalid(param: string, message: string, code = 'invalid_value'): ApiError {
  return new ApiError(400, `${param}: ${message}`, code, param);
}

/** A feature of OpenAI's API that this one does not support. */
export function unsupported(param: string, message: string): ApiError {
  return invalid(param, message, 'unsupported_parameter');
}

/** @throws ApiError if the caller has disconnected */
export function assertCaller({ aborted }: AbortSignal): void {
  if (aborted) throw new ApiError(499, 'the caller is gone', 'cancelled');
}

const logger = new Logger('openai');

/** The caller's view of an error: an internal error reveals nothing else. */
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

/** The same, and logs the details that the caller does not see. */
export function toApiError(error: unknown): ApiError {
  const told = apiErrorOf(error);
  if (told.code === 'internal_error')
    logger.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return told;
}

/**
 * Errors of Nest and of the body parser have a status and are public; errors of servers that the policy queries have
 * a status of those servers.
 */
function statusOf(error: unknown): [number, string] {
  if (error instanceof HttpException) return [error.getStatus(), error.message];
  if (!(error instanceof Error)) return [500, ''];
  const { expose, status } = error as { expose?: unknown; status?: unknown };
  return [expose === true && typeof status === 'number' ? status : 500, error.message];
}
