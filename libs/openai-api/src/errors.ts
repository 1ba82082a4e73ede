/** OpenAI's names for what went wrong. */
export type ApiErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'not_found_error'
  | 'rate_limit_error'
  | 'server_error'
  | 'service_unavailable_error';

const TYPES: Readonly<Record<number, ApiErrorType>> = {
  401: 'authentication_error',
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
