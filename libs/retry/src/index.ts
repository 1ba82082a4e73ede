export { claimFile, type ClaimResult, type IsGone } from './claim-file';
export { describeError } from './describe-error';
export { DEADLINES, type Deadline } from './deadlines';
export { RETRIES, type RetryPolicy } from './retries';
export { everyFewSeconds, pauseAfter, REPORT_EVERY_MS, retry, type RetryOptions } from './retry';
export { aborted, MAX_WAIT_MS, sleep, startTimer, waitAtMost } from './wait';
