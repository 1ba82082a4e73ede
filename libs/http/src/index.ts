export { isLinkLocalHost, lookupBeyondLink } from './addresses';
export { AnswerTooLong, boundedFetch, fetchFailure, type FetchLimits } from './bounded-fetch';
export { isSameSecret } from './same-secret';
export { serverError, type ServerError } from './server-error';
