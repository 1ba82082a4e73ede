import type { ApiError } from '../errors';

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
};

/** `{type: 'error', error: {type, message, details}, request_id}`: an error in Anthropic's form. */
export function messagesError({ status, message, code }: ApiError): object {
  const type = TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
  const details = code === null ? null : { error_code: code };
  return { type: 'error', error: { type, message, details }, request_id: null };
}

/** Whether an address belongs to the Messages API, with or without a session. */
export function isOfMessages(url: string): boolean {
  return /^[^?]*\/v1\/messages([/?]|$)/.test(url);
}
