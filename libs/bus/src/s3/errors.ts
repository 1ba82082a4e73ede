import { BusError } from '../errors';
import { placeOf, type S3Options } from './options';

/** An error of AWS's client. */
interface S3Failure {
  name: string;
  message: string;
  code?: string;
  $metadata?: { httpStatusCode?: number };
}

const UNANSWERED = new Set(['TimeoutError', 'AbortError', 'RequestAbortedError', 'NetworkingError']);
const PASSING = new Set([
  'SlowDown',
  'RequestTimeout',
  'Throttling',
  'ThrottlingException',
  'OperationAborted',
]);
const ELSEWHERE = new Set([
  'PermanentRedirect',
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
]);
/** AWS's client keeps only the text of an error from another realm, such as a test's. */
const WRAPPED = /^AWS SDK error wrapper for .*\b(E[A-Z_]{4,})\b/;
const NEEDED =
  's3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload, s3:ListBucket and s3:ListBucketMultipartUploads';

function statusOf(error: unknown): number | undefined {
  return (error as S3Failure).$metadata?.httpStatusCode;
}

/** Whether the same request may succeed later without intervention. */
export function isPassing(error: unknown): boolean {
  const { name, message, code } = error as S3Failure;
  const status = statusOf(error);
  if (UNANSWERED.has(name) || PASSING.has(name)) return true;
  if (status !== undefined && status >= 400) return status >= 500 || status === 408 || status === 429;
  // Connection errors: ECONNREFUSED, ENOTFOUND, EPIPE …
  return /^E[A-Z_]+$/.test(code ?? WRAPPED.exec(message)?.[1] ?? '');
}

export function isAbsent(error: unknown): boolean {
  return ['NoSuchKey', 'NotFound'].includes((error as S3Failure).name);
}

/** Another process wrote first, or has replaced the requested object meanwhile. */
export function isOvertaken(error: unknown): boolean {
  return [409, 412].includes(statusOf(error) ?? 0);
}

/** Translates the error. Drops the client's own error, which contains the request with its signature. */
export function meaningOf(error: unknown, what: string, options: S3Options): BusError {
  if (error instanceof BusError) return error;
  const { name, message } = error as S3Failure;
  const place = placeOf(options);
  const said = `${place} cannot ${what} (${name}: ${message})`;
  const status = statusOf(error);
  if (name === 'NoSuchBucket')
    return new BusError(
      'configuration',
      `there is no bucket ${options.bucket}: expected ${place} (BLOBS) to be there`,
    );
  if (name === 'CredentialsProviderError')
    return new BusError(
      'authorization',
      `${said}: expected AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or what else AWS's client takes credentials from`,
    );
  if (ELSEWHERE.has(name) || status === 301 || /region is missing/i.test(message))
    return new BusError('configuration', `${said}: expected the bucket's region in AWS_REGION`);
  if (status === 401 || status === 403)
    return new BusError('authorization', `${said}: expected credentials with ${NEEDED}`);
  if (isOvertaken(error)) return new BusError('missing', `${said}: it was replaced meanwhile`);
  return new BusError(isPassing(error) ? 'unavailable' : 'configuration', said);
}
